"""One presenter per pane; they speak to views through small Protocols and know no Qt."""
