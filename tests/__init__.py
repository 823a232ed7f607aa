"""The suite. A regular package, so that `tests.properties` means this folder and no other distribution's."""
