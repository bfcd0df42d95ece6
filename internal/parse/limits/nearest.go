package limits

// Nearest is the candidate that differs least from name, by letters inserted, deleted, changed or swapped with their neighbour, and
// false where none is nearer than a third of its length (at least two letters). Ties go to the first.
func Nearest(name string, candidates []string) (string, bool) {
	best, bestAt := "", max(2, len(name)/3)+1
	for _, c := range candidates {
		if d := distance(name, c, bestAt); d < bestAt {
			best, bestAt = c, d
		}
	}
	return best, best != ""
}

// distance is the optimal string alignment distance, or limit where it is at least that.
func distance(a, b string, limit int) int {
	if d := len(a) - len(b); d >= limit || -d >= limit {
		return limit
	}
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return min(last[len(b)], limit)
}
