package store

// Legacy is kept for nobody.
const Legacy = "v0"
