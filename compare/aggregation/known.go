package aggregation

import (
	"regexp"
	"strings"
)

// otherwise has the steps whose answers here are others, on purpose: by chapter, the numbers of the steps. They are done, but not compared:
// what our server answers is tested where the number of the difference is cited.
var otherwise = map[string]map[int]string{
	"checks":    merged(kAll("K104", 55, 56, 57, 60, 61, 62, 65, 66, 67), kAll("they take 30 s", 76, 77)),
	"discovery": merged(kAll("K104", 91, 94, 95, 98, 99, 102, 103, 104), kAll("K97", 39, 61, 69, 105), kAll("K8", 4, 7)),
	"identity":  merged(kAll("K33", 42), kAll("K34", 51), kAll("K47", 17, 18), kAll("K96", 55, 56), kAll("K105", 43, 45)),
	"local":     merged(kAll("K97", 4, 5, 6, 36, 53), kAll("K99", 18, 21, 25, 41)),
	"openapi":   kAll("K106", 11, 15, 16, 24),
	"proxied":   kAll("K105", 4, 7, 10, 11, 12, 13, 21, 53, 57, 75, 76, 77, 80, 82),
}

func kAll(k string, steps ...int) map[int]string {
	all := map[int]string{}
	for _, step := range steps {
		all[step] = k
	}
	return all
}

func merged(all ...map[int]string) map[int]string {
	one := map[int]string{}
	for _, some := range all {
		for step, k := range some {
			one[step] = k
		}
	}
	return one
}

// asToday returns a 404 of ours as today's server answers it: with a text, not with a Status (K87).
func asToday(want, got string) string {
	switch {
	case strings.HasSuffix(want, "\n\n404 page not found"):
		return notFound.ReplaceAllString(got, "Content-Type: text/plain; charset=utf-8\n\n404 page not found")
	case want == "status 404\n\n":
		return strings.TrimSuffix(strings.Replace(got, "Content-Type: text/plain; charset=utf-8\n", "", 1), "404 page not found")
	}
	return got
}

var notFound = regexp.MustCompile(`(?s)Content-Type: application/json\n\n\{\n "kind": "Status".* "code": 404\n\}`)
