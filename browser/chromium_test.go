package browser

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// chromium is the browser: Debian's package of this name.
const chromium = "chromium"

// page is the page in a window of its own browser.
type page struct {
	t   *testing.T
	ctx context.Context

	mu     sync.Mutex // guards what follows
	asked  []string   // the URLs of all requests
	failed []string   // what the page's scripts did not catch, and what the policy of the page forbade
}

// openPage opens the page of a server, and waits until it is live. When the test ends, the page must have asked
// nobody else, and no script may have failed.
func openPage(t *testing.T, s *server) *page {
	p := openBrowser(t)
	p.visit(s)
	own, err := url.Parse(s.url)
	require.NoError(t, err)
	t.Cleanup(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		assert.NotEmpty(t, p.asked)
		for _, asked := range p.asked {
			at, err := url.Parse(asked)
			require.NoError(t, err)
			assert.Equal(t, own.Host, at.Host, "no request leaves the machine: %s", asked)
		}
		assert.Empty(t, p.failed)
	})
	return p
}

// visit opens the page of a server, and waits until it is live.
func (p *page) visit(s *server) {
	p.t.Helper()
	p.do(chromedp.Navigate(s.url + "/ui/"))
	p.waitFor(`state.textContent === "live"`)
}

// openBrowser opens an empty page.
func openBrowser(t *testing.T) *page {
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(chromium), chromedp.NoSandbox, chromedp.WindowSize(1280, 900),
		chromedp.Flag("ignore-certificate-errors", true), chromedp.Flag("lang", "en"), chromedp.Env("TZ=UTC"))
	allocator, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(cancel)
	return openTab(t, allocator)
}

// openTab opens an empty page of a browser.
func openTab(t *testing.T, browser context.Context) *page {
	ctx, cancel := chromedp.NewContext(browser)
	t.Cleanup(cancel)
	p := &page{t: t, ctx: ctx}
	require.NoError(t, chromedp.Listen(ctx, p.observe))
	call(p, network.Enable, network.EnableParams{})
	return p
}

// observe notes what happens in the browser.
func (p *page) observe(event any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch event := event.(type) {
	case *network.EventRequestWillBeSent:
		p.asked = append(p.asked, event.Request.URL)
	case *network.EventWebSocketCreated:
		p.asked = append(p.asked, event.URL)
	case *runtime.EventExceptionThrown:
		p.failed = append(p.failed, event.ExceptionDetails.Text)
	}
}

// within bounds an action: the browser may hang.
func (p *page) within() (context.Context, context.CancelFunc) {
	return context.WithTimeout(p.ctx, 2*hangs)
}

func (p *page) do(actions ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	ctx, cancel := p.within()
	defer cancel()
	require.NoError(p.t, chromedp.Do(ctx, actions...), "%s", p.shown())
}

// call sends a command of the protocol.
func call[P, R any](p *page, command cdp.Command[P, R], params P) R {
	p.t.Helper()
	ctx, cancel := p.within()
	defer cancel()
	result, err := chromedp.Call(ctx, command, params)
	require.NoError(p.t, err)
	return result
}

// value returns the value of an expression, which may be a promise.
func value[V any](p *page, expression string) V {
	p.t.Helper()
	ctx, cancel := p.within()
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[V](expression, chromedp.EvalAwaitPromise))
	require.NoError(p.t, err, expression)
	return v
}

// run evaluates an expression whose value nobody wants.
func (p *page) run(expression string) {
	p.t.Helper()
	value[bool](p, "("+expression+", true)")
}

// waitFor waits until an expression is true: it is asked as often as the screen is drawn.
func (p *page) waitFor(expression string) {
	p.t.Helper()
	ctx, cancel := p.within()
	defer cancel()
	_, err := chromedp.Run(ctx, chromedp.Poll[bool](expression, chromedp.WithPollingTimeout(hangs)))
	require.NoError(p.t, err, "%s\n%s", expression, p.shown())
}

// shown is the text of the page, for an error.
func (p *page) shown() string {
	ctx, cancel := context.WithTimeout(p.ctx, 5*time.Second)
	defer cancel()
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string]("document.body.innerText"))
	if err != nil {
		return err.Error()
	}
	return text
}

// shows waits for a text in an element, with single spaces.
func (p *page) shows(selector, text string) {
	p.t.Helper()
	p.waitFor(fmt.Sprintf("[...document.querySelectorAll(%q)].some((e) => e.innerText.replace(/\\s+/g, ' ').includes(%q))", selector, text))
}

// hides waits until no such element has the text.
func (p *page) hides(selector, text string) {
	p.t.Helper()
	p.waitFor(fmt.Sprintf("![...document.querySelectorAll(%q)].some((e) => e.innerText.replace(/\\s+/g, ' ').includes(%q))", selector, text))
}

// button is the one with a text.
func button(text string) chromedp.Search {
	return chromedp.Search(fmt.Sprintf("//button[normalize-space(.)=%q]", text))
}

func click[S chromedp.Selectable](p *page, selector S) {
	p.t.Helper()
	p.do(chromedp.Click(selector, chromedp.NodeVisible))
}

// fill gives a field a value.
func (p *page) fill(selector, text string) {
	p.t.Helper()
	p.do(chromedp.SetValue(chromedp.CSS(selector), text))
}

// delete deletes the object whose details are shown.
func (p *page) delete() {
	p.t.Helper()
	click(p, "#details .danger")
	click(p, "#confirm .danger")
}

// tabTo presses Tab until an element that fits a selector, and has a text, has the focus.
func (p *page) tabTo(selector, text string) {
	p.t.Helper()
	for range 100 {
		p.do(chromedp.KeyEvent(kb.Tab))
		if value[bool](p, fmt.Sprintf("document.activeElement.matches(%q) && document.activeElement.textContent.includes(%q)", selector, text)) {
			return
		}
	}
	require.FailNow(p.t, "Tab does not lead there", selector+" "+text)
}

// resize lets the window have a size, and be that of a telephone or not.
func (p *page) resize(width, height int64, mobile bool) {
	p.t.Helper()
	call(p, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: width, Height: height, DeviceScaleFactor: 1, Mobile: mobile})
}

// scheme sets what the user likes: light or dark.
func (p *page) scheme(name string) {
	p.t.Helper()
	call(p, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}}})
}

// screenshot writes a picture of the window, if make screenshots says where.
func (p *page) screenshot(name string) {
	p.t.Helper()
	ctx, cancel := p.within()
	defer cancel()
	picture, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	require.NoError(p.t, err)
	assert.NotEmpty(p.t, picture)
	if directory := os.Getenv("KUBE2014_SCREENSHOTS"); directory != "" {
		require.NoError(p.t, os.WriteFile(filepath.Join(directory, name), picture, 0o644))
	}
}
