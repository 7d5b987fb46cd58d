"""Models, trees and results on disk: JSON and NPZ, never pickle."""
