"""Issues, briefs, designs and verdicts as data: parse, check and render, without any effect."""
