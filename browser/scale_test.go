package browser

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/heapprofiler"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// heap returns what the page's scripts keep, in bytes.
func (p *page) heap() float64 {
	p.t.Helper()
	call(p, heapprofiler.CollectGarbage, cdp.Empty{})
	return call(p, runtime.GetHeapUsage, cdp.Empty{}).UsedSize
}

// observer counts how often the screen is drawn, the longest time between two drawings, in milliseconds, and how
// often the page changes its elements: all changes of one drawing count once.
const observer = `(() => {
	window.seen = { frames: 0, batches: 0, gaps: [] };
	let last = performance.now();
	const frame = (now) => { seen.frames++; seen.gaps.push(now - last); last = now; requestAnimationFrame(frame); };
	requestAnimationFrame(frame);
	new MutationObserver(() => seen.batches++).observe(document.querySelector("main"), { childList: true, subtree: true, characterData: true, attributes: true });
})()`

// shownPods is how many pods the cards show, with those that are folded.
const shownPods = `[...document.querySelectorAll(".card")].reduce((sum, card) => sum + card.querySelectorAll(".pod").length + (parseInt(card.querySelector(".more:not([hidden])")?.textContent) || 0), 0)`

func TestThePageStaysSmoothWith200MachinesAnd5000Pods(t *testing.T) {
	const machines, all, fewer = 200, 5000, 4000
	s := startCluster(t, someMachines(machines))
	s.createController(t, "many", all)
	s.createService(t, "many")
	await := func(replicas int) {
		wanted := fmt.Sprintf(`"replicas":%[1]d,"fullyLabeledReplicas":%[1]d,"readyReplicas":%[1]d`, replicas)
		for begin := time.Now(); ; time.Sleep(100 * time.Millisecond) {
			status := s.send(t, "GET", controllers+"/many", "")
			if strings.Contains(status, wanted) {
				return
			}
			require.Less(t, time.Since(begin), 10*hangs, status)
		}
	}
	await(all)

	p := openBrowser(t)
	begin := time.Now()
	p.do(chromedp.Navigate(s.url + "/ui/"))
	p.waitFor(fmt.Sprintf(`document.querySelectorAll(".card").length === %d && %s === %d`, machines, shownPods, all))
	took := time.Since(begin)
	t.Logf("all %d pods on %d machines are shown after %v", all, machines, took)
	assert.Less(t, took, 2*time.Second)
	p.waitFor(`state.textContent === "live"`)

	before := p.heap()
	p.run(observer)
	changed := time.Now()
	for range 3 {
		for _, replicas := range []int{fewer, all} {
			s.send(t, "PATCH", controllers+"/many", fmt.Sprintf(`{"spec": {"replicas": %d}}`, replicas))
			await(replicas)
		}
	}
	lasted := time.Since(changed)
	p.waitFor(fmt.Sprintf(`document.querySelectorAll(".pod:not([data-state=good])").length === 0 && %s === %d`, shownPods, all))
	after := p.heap()
	frames, batches := value[float64](p, "seen.frames"), value[float64](p, "seen.batches")
	gap := func(share float64) float64 {
		return value[float64](p, fmt.Sprintf("seen.gaps.sort((a, b) => a - b)[Math.floor(%g * (seen.gaps.length - 1))]", share))
	}
	t.Logf("while 3,000 pods ended and 3,000 began, in %v: %.0f frames, %.0f drawings; between two frames median %.0f ms, 99%% %.0f ms, at most %.0f ms",
		lasted, frames, batches, gap(0.5), gap(0.99), gap(1))
	t.Logf("the scripts keep %.1f MB before and %.1f MB after", before/1e6, after/1e6)
	assert.Greater(t, batches, 0.0)
	assert.Less(t, gap(0.99), 250.0, "milliseconds between two frames")
	assert.LessOrEqual(t, batches, frames+1, "what changes is drawn once a frame")
	assert.Less(t, after, 1.3*before+2e6, "what has gone is not kept")
	assert.LessOrEqual(t, value[float64](p, `document.querySelectorAll("#events li").length`), 100.0)
	assert.Empty(t, p.failed)
}
