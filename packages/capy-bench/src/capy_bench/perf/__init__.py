"""Speed: each part of capy beside the machine's bare floor, measured in one run, so that ratios travel."""
