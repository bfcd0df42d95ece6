package plan

import "strings"

// nearest is the allowed word that a misspelt one most likely means; empty where none is near. Distance: optimal string alignment
// (Levenshtein with swaps of neighbours), at most a third of the longer word, so that short words are not matched with anything.
func nearest(word string, allowed []string) string {
	best, bestDistance := "", 0
	lower := strings.ToLower(word)
	for _, a := range allowed {
		d := distance(lower, strings.ToLower(a))
		if d > max(1, max(len(word), len(a))/3) {
			continue
		}
		if best == "" || d < bestDistance {
			best, bestDistance = a, d
		}
	}
	return best
}

func distance(a, b string) int {
	const longest = 64 // Longer words are nobody's misspelling.
	if len(a) > longest || len(b) > longest {
		return longest
	}
	var rows [longest + 1][longest + 1]int
	for i := range len(a) + 1 {
		rows[i][0] = i
	}
	for j := range len(b) + 1 {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
