package aggregation_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"

	"kube2014/compare/serverstest"
)

// kills is how often each server is killed.
const kills = 5

func TestServersThatAreKilledUnderLoadLoseNothing(t *testing.T) {
	onlyIfAsked(t)
	f := newFleet(t, 1)
	f.addSample(t)
	s := f.ours[0]
	t.Run("the sample server", func(t *testing.T) {
		l := newLoad(t)
		l.watch(s.Server)
		for i := range 4 {
			l.create(s.Server, fmt.Sprintf("a%d", i))
		}
		for i := range 2 {
			l.useOthers(s.Server, fmt.Sprint("o", i))
		}
		for range kills {
			l.untilMore(t, 100)
			l.untilSeen(t)
			f.sample.stop()
			assert.Equal(t, http.StatusServiceUnavailable, s.Do(t, serverstest.Request{Method: http.MethodGet, Path: atFlunders}).Status)
			f.sample.start(t)
		}
		l.untilMore(t, 100)
		l.untilSeen(t)
		l.stop()
		l.lostNothing(t, s.Server)
		assert.GreaterOrEqual(t, l.ends, kills)
	})
	t.Run("ours", func(t *testing.T) {
		l := newLoad(t)
		l.watch(s.Server)
		for i := range 4 {
			l.create(s.Server, fmt.Sprintf("b%d", i))
		}
		for range kills {
			l.untilMore(t, 100)
			l.untilSeen(t)
			s.stop()
			s.start(t)
		}
		l.untilMore(t, 100)
		l.untilSeen(t)
		l.stop()
		l.lostNothing(t, s.Server)
		assert.GreaterOrEqual(t, l.ends, kills)
	})
}

func TestOneOfTwoServersGoesOnWhileTheOtherIsKilled(t *testing.T) {
	onlyIfAsked(t)
	f := newFleet(t, 2)
	f.addSample(t)
	before := f.ours[0].Do(t, serverstest.Request{Method: http.MethodGet, Path: serviceOf})
	for i, victim := range f.ours {
		other, both, through := f.ours[1-i], newLoad(t), newLoad(t)
		both.create(victim.Server, fmt.Sprint("v", i))
		both.watch(victim.Server)
		through.watch(other.Server)
		for j := range 3 {
			through.create(other.Server, fmt.Sprintf("t%d-%d", i, j))
		}
		through.useOthers(other.Server, fmt.Sprint("o", i))
		for range kills {
			both.untilMore(t, 20)
			victim.stop()
			through.untilMore(t, 100)
			victim.start(t)
		}
		both.untilMore(t, 20)
		both.untilSeen(t)
		through.untilSeen(t)
		t.Logf("%s was killed %d times; through %s:", victim.Name, kills, other.Name)
		both.stop()
		through.stop()
		assert.Empty(t, through.refused, "through the server that is not killed")
		assert.Zero(t, through.ends, "of watches there")
		through.lostNothing(t, other.Server)
		both.lostNothing(t, victim.Server)
	}
	after := f.ours[0].Do(t, serverstest.Request{Method: http.MethodGet, Path: serviceOf})
	assert.JSONEq(t, string(before.Body), string(after.Body), "nobody has changed the condition")
}
