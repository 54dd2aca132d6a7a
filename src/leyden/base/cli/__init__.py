"""What every command needs: groups, options, output, exit codes."""
