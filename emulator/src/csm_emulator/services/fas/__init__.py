"""FAS, the firmware action service: images, actions that put them on devices, snapshots of what is on them."""
