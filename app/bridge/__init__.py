"""The Qt loop as the asyncio loop."""
