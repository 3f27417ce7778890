"""Charts as figures of Plotly and of Matplotlib."""
