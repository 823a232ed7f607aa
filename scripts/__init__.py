"""What the scripts run. A package, so that `scripts` means this folder and no other distribution's."""
