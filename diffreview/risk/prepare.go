package risk

// Prepare makes the tables ready, some 15 ms of work that the first File or Run
// would wait for. It may be called at any time, from any goroutine.
func Prepare() { rules() }
