package prove

// tests is the sixteen, in their order.
func tests() []test {
	return []test{
		{number: 1, run: readOutside, against: true, bare: true},
		{number: 2, run: writeOutside, against: true, bare: true},
		{number: 3, run: otherNames, against: true, bare: true},
		{number: 4, run: hostCredentials, against: true, bare: true},
		{number: 5, run: allowedDestination},
		{number: 6, run: defaultDeny, against: true, bare: true},
		{number: 7, run: otherOperation},
		{number: 8, run: hogs, against: true, bare: true},
		{number: 9, run: clocks, against: true},
		{number: 10, run: resultTold},
		{number: 11, run: nothingOutlives, against: true, bare: true},
		{number: 12, run: nextSession, against: true, bare: true},
		{number: 13, run: placeholderElsewhere},
		{number: 14, run: boundary, against: true, bare: true},
		{number: 15, run: noWallNoRun},
		{number: 16, run: reviewedDiff, against: true},
	}
}
