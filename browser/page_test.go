package browser

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// threeMachines are those of make cluster, on other addresses than those: it may be running.
var threeMachines = []string{"127.0.3.1", "127.0.3.2", "127.0.3.3"}

// unreloaded is true until the page is loaded again.
const unreloaded = "window.unreloaded === true"

func TestAPodThatIsCreatedIsShownWithinASecondWithoutReload(t *testing.T) {
	s := startCluster(t, threeMachines)
	p := openPage(t, s)
	p.run("window.unreloaded = true")
	for i := range 10 {
		name := fmt.Sprint("web-", i)
		begin := time.Now()
		s.createPod(t, name)
		p.shows(".pod", name)
		took := time.Since(begin)
		t.Logf("%s is shown after %v", name, took)
		assert.Less(t, took, time.Second)
	}
	p.waitFor(`document.querySelectorAll(".card .pod[data-state=good]").length === 10`)
	p.hides(".card", "no machine yet")
	assert.True(t, value[bool](p, unreloaded))
}

func TestThePageTellsPodsOfTheSameNameFromEachOther(t *testing.T) {
	s := startCluster(t, threeMachines)
	p := openPage(t, s)
	s.send(t, "POST", "/api/v1/namespaces", `{"metadata": {"name": "dev"}}`)
	s.createPod(t, "web")
	s.send(t, "POST", "/api/v1/namespaces/dev/pods", `{"metadata": {"name": "web"}, "spec": {"containers": [{"name": "web", "image": "nginx"}]}}`)
	p.waitFor(`[...document.querySelectorAll(".card .pod[data-state=good] span")].map((pod) => pod.textContent).sort().join() === "dev/web,web"`)
	p.shows("#events li", "pod web")
	p.shows("#events li", "pod dev/web")
	s.send(t, "DELETE", "/api/v1/namespaces/dev", "")
	p.waitFor(`[...document.querySelectorAll(".pod span")].map((pod) => pod.textContent).join() === "web"`)
}

func TestThePageShowsMachinesServicesControllersAndEventsAsTheyChange(t *testing.T) {
	s := startCluster(t, threeMachines)
	p := openPage(t, s)
	for _, machine := range threeMachines {
		p.shows(".card", machine+" Ready")
	}
	s.createController(t, "front", 3)
	s.createService(t, "front")
	p.shows("#controllers li", "3 of 3 there, 3 ready")
	p.shows("#services li", "port 8000 to 80")
	p.waitFor(`document.querySelector("#services .targets").textContent.match(/127[.0-9]+:80/g)?.length === 3`)
	p.shows("#events li", "Scheduled")
	p.shows("#events li", "replicationcontroller front")
	p.waitFor(`document.querySelector("#machines .count").textContent === "3 with 3 pods"`)

	s.send(t, "PATCH", "/api/v1/nodes/127.0.3.1", `{"spec": {"unschedulable": true}}`)
	p.shows(".card", "127.0.3.1 Ready, cordoned")
	s.send(t, "PATCH", controllers+"/front", `{"spec": {"replicas": 0}}`)
	p.shows("#controllers li", "0 of 0 there")
	p.shows("#services li", "to nobody")
	p.waitFor(`document.querySelectorAll(".pod").length === 0`)

	s.createPod(t, "alone")
	p.shows(".pod", "alone")
}

func TestThePageShowsOwnKindsWhileTheyAreThere(t *testing.T) {
	s := startCluster(t, threeMachines)
	p := openPage(t, s)
	assert.True(t, value[bool](p, `document.querySelector("#own").hidden`))
	const definitions, things = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "/apis/example.com/v1/namespaces/default/things"
	definition := func(scope string) {
		s.send(t, "POST", definitions, `{"metadata": {"name": "things.example.com"}, "spec": {"group": "example.com", "scope": "`+scope+`",
"names": {"plural": "things", "kind": "Thing"}, "versions": [{"name": "v1", "served": true, "storage": true,
"schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}]}}`)
	}
	definition("Namespaced")
	p.shows("#own h3", "Thing (example.com)")
	s.send(t, "POST", things, `{"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "one"}, "status": {"phase": "Up"}}`)
	p.shows("#own li", "one")
	p.shows("#own li", "Up")
	s.send(t, "PATCH", things+"/one", `{"status": {"conditions": [{"type": "Ready", "status": "False"}]}}`)
	p.shows("#own li", "not ready")
	click(p, chromedp.CSS("#own .name"))
	p.shows("#details", "things.example.com")
	p.delete()
	p.shows("#said", "one is deleted")
	p.waitFor(`document.querySelectorAll("#own li").length === 0`)
	s.send(t, "DELETE", definitions+"/things.example.com", "")
	p.waitFor(`document.querySelector("#own").hidden`)
	p.shows("#state", "live")

	definition("Cluster")
	p.shows("#own h3", "Thing (example.com)")
	s.send(t, "POST", "/apis/example.com/v1/things", `{"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "two"}}`)
	p.shows("#own li", "two")
	p.shows("#state", "live")
}

func TestThePageGoesOnAfterARestartOfTheServer(t *testing.T) {
	s := startCluster(t, threeMachines)
	p := openPage(t, s)
	p.run("window.unreloaded = true")
	s.createPod(t, "before")
	p.shows(".pod", "before")
	s.kill()
	p.shows("#state", "connecting again")
	assert.True(t, value[bool](p, `document.querySelector(".pod").innerText.includes("before")`), "what was last known stays")

	s.start(t)
	p.shows("#state", "live")
	p.hides(".pod", "before") // its memory ended with the process
	s.createPod(t, "after")
	p.shows(".pod", "after")
	assert.True(t, value[bool](p, unreloaded))
}

// A browser opens only six connections to a server, besides web sockets.
func TestThePageIsLiveInSeveralTabsAtOnce(t *testing.T) {
	s := startCluster(t, threeMachines)
	tabs := []*page{openPage(t, s)}
	for range 4 {
		tabs = append(tabs, openTab(t, tabs[0].ctx))
		tabs[len(tabs)-1].visit(s)
	}
	s.createPod(t, "everywhere")
	for _, tab := range tabs {
		call(tab, cdppage.BringToFront, cdp.Empty{}) // one that nobody sees draws nothing
		tab.shows(".pod", "everywhere")
	}
}

func TestThePageMakesScalesAndDeletes(t *testing.T) {
	s := startCluster(t, threeMachines)
	p := openPage(t, s)
	choose := func(kind, name string) {
		p.fill("#make select", kind)
		p.run("document.querySelector('#make select').onchange()")
		p.fill("[name=name]", name)
		click(p, button("Make"))
		p.shows("#said", name+" is made")
	}
	choose("replicationcontrollers", "web")
	p.shows("#controllers li", "3 of 3 there, 3 ready")
	choose("services", "web")
	p.shows("#services li", "port 8000 to 8090")
	p.waitFor(`document.querySelector("#services .targets").textContent.match(/:8090/g)?.length === 3`)
	choose("pods", "alone")
	p.shows(".pod", "alone")

	p.fill("#controllers input", "5")
	click(p, button("Scale"))
	p.shows("#controllers li", "5 of 5 there, 5 ready")
	assert.Contains(t, s.send(t, "GET", controllers+"/web", ""), `"replicas":5`)

	for _, object := range []string{"#services .name", "#controllers .name"} {
		click(p, chromedp.CSS(object))
		p.shows("#details[open]", "selects app=web")
		p.delete()
		p.shows("#said", "web is deleted")
		p.run(`document.querySelector("#said").textContent = ""`)
	}
	p.waitFor(`document.querySelectorAll("#services li, #controllers li").length === 0`)
	p.waitFor(`document.querySelectorAll(".pod").length === 1`)
	click(p, chromedp.Search(`//button[contains(., "alone")]`))
	p.shows("#details [data-part=containers] li", "main nginx running 0 restarts")
	p.delete()
	p.hides(".pod", "alone")
	status, _, err := s.try("GET", pods+"/alone", "")
	require.NoError(t, err)
	assert.Equal(t, http.StatusNotFound, status)

	p.fill("[name=name]", "Not A Name")
	click(p, button("Make"))
	p.shows("#said[data-state=bad]", "metadata.name: Invalid value")
}

func TestThePageWorksWithTheKeyboardAlone(t *testing.T) {
	s := startCluster(t, threeMachines)
	p := openPage(t, s)
	press := func(keys string) { p.do(chromedp.KeyEvent(keys)) }

	p.tabTo("#make select", "")
	press(kb.ArrowDown + kb.ArrowDown) // a replication controller
	p.tabTo("[name=name]", "")
	press("web")
	press(kb.Enter)
	p.shows("#controllers li", "3 of 3 there, 3 ready")

	p.tabTo("#controllers input", "")
	press(kb.Backspace + "1")
	press(kb.Enter)
	p.shows("#controllers li", "1 of 1 there, 1 ready")
	p.waitFor(`document.querySelectorAll(".pod").length === 1`) // those that end are shown until they have

	p.tabTo(".pod", "web")
	press(kb.Enter)
	p.shows("#details[open]", "127.")
	assert.Equal(t, "Close", value[string](p, "document.activeElement.textContent"))
	press(kb.Escape)
	p.waitFor("!details.open")
	assert.Equal(t, "pod", value[string](p, "document.activeElement.className"), "the focus is where it was")

	p.run("document.activeElement.blur()")
	p.tabTo("#controllers .name", "web")
	press(kb.Enter)
	p.waitFor("details.open")
	p.tabTo("button", "Delete")
	press(kb.Enter)
	p.shows("#confirm[open]", "Delete replication controller web? With it go 1 pod.")
	press(kb.Escape)
	p.waitFor("!confirm.open && details.open")
	assert.Equal(t, "Delete", value[string](p, "document.activeElement.textContent"), "the focus is where it was")
	press(kb.Enter)
	p.tabTo("#confirm button", "Delete")
	press(kb.Enter)
	p.waitFor(`document.querySelectorAll("#controllers li, .pod").length === 0`)
}

func TestAPodNamedScriptIsShownAsText(t *testing.T) {
	etcd := new(server)
	data := t.TempDir()
	etcd.url = "http://" + etcd.run(t, "../bin/etcd", `serving client traffic insecurely.*"address":"(127\.0\.0\.1:\d+)"`, "--data-dir", data, "--enable-v2=true", "--unsafe-no-fsync",
		"--listen-client-urls", "http://127.0.0.1:0", "--advertise-client-urls", "http://127.0.0.1:0", "--listen-peer-urls", "http://127.0.0.1:0")
	t.Cleanup(etcd.kill)
	s := startServer(t, "-port", "PORT", "-etcd_servers", etcd.url)
	p := openPage(t, s)
	// No door takes such a name, but the original stored any.
	const name = `<script>window.failed = true</script><img src=x onerror="window.failed = true">`
	task := `{"id": ` + quoted(name) + `, "desiredState": {"manifest": {"version": "v1beta1", "volumes": null, "containers": [{"name": "a", "image": "<i>x"}]}}}`
	put, err := http.NewRequest("PUT", etcd.url+"/v2/keys/registry/hosts/127.0.0.1/tasks/"+url.PathEscape(strings.ReplaceAll(name, "/", "")), strings.NewReader(url.Values{"value": {strings.ReplaceAll(task, "/", "")}}.Encode()))
	require.NoError(t, err)
	put.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer, err := client.Do(put)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, http.StatusCreated, answer.StatusCode)
	p.shows(".pod", strings.ReplaceAll(name, "/", ""))
	click(p, chromedp.CSS(".pod"))
	p.shows("#details h2", "<script>window.failed = true<script>")
	p.shows("#details [data-part=containers]", "<i>x")
	assert.False(t, value[bool](p, "window.failed === true || document.querySelectorAll('main script, main img, dialog i').length > 0"))
}

func quoted(text string) string { return fmt.Sprintf("%q", text) }

func TestThePolicyOfThePageAllowsNothingButItself(t *testing.T) {
	s := startCluster(t, threeMachines)
	other := startServer(t, "-port", "PORT", "-cors_allowed_origins", ".*")
	p := openBrowser(t)
	p.visit(s)
	const blocked = `new Promise((done) => {
		addEventListener("securitypolicyviolation", (event) => done(event.effectiveDirective), { once: true });
		setTimeout(() => done("nothing"), 5000);
		%s
	})`
	for _, row := range []struct{ directive, attempt string }{
		{"connect-src", `fetch(` + quoted(other.url+"/api/v1/pods") + `).catch(() => {})`},
		{"connect-src", `new WebSocket(` + quoted(strings.Replace(other.url, "http", "ws", 1)+"/api/v1/pods?watch=1") + `)`},
		{"img-src", `document.body.append(Object.assign(new Image(), { src: ` + quoted(other.url+"/x.png") + ` }))`},
		{"style-src-elem", `document.head.append(Object.assign(document.createElement("style"), { textContent: "body { color: red }" }))`},
		{"frame-src", `document.body.append(Object.assign(document.createElement("iframe"), { src: ` + quoted(other.url) + ` }))`},
		{"form-action", `const form = document.createElement("form"); form.action = ` + quoted(other.url) + `; document.body.append(form); form.submit()`},
		{"script-src-elem", `import(` + quoted(other.url+"/x.js") + `).catch(() => {})`},
		{"require-trusted-types-for", `try { document.body.innerHTML += "<b>x</b>" } catch {}`},
	} {
		assert.Equal(t, row.directive, value[string](p, fmt.Sprintf(blocked, row.attempt)), row.attempt)
	}
	answer, err := client.Get(s.url + "/ui/")
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	assert.Contains(t, answer.Header.Get("Content-Security-Policy"), "frame-ancestors 'none'", "no page shows it in a frame")
}

func TestThePageAsksForATokenAndKeepsItInMemoryOnly(t *testing.T) {
	directory := t.TempDir()
	tokens := filepath.Join(directory, "tokens")
	require.NoError(t, os.WriteFile(tokens, []byte("s3cret,ann,1,system:masters\n"), 0o600))
	s := startServer(t, "-insecure=false", "-secure_port", "PORT", "-bind_address", "127.0.0.1", "-cert_dir", directory, "-token_auth_file", tokens,
		"-authorization_mode", "RBAC", "-machines", strings.Join(threeMachines, ","))
	s.token = "s3cret"
	s.createPod(t, "guarded")

	p := openBrowser(t)
	give := func(token string) {
		p.waitFor("login.open")
		p.do(chromedp.SendKeys(chromedp.CSS("#login input"), token+kb.Enter))
	}
	p.do(chromedp.Navigate(s.url + "/ui/"))
	p.shows("#login", "forbidden")
	p.hides("main", "guarded")
	give("wrong")
	p.shows("#login[open]", "Unauthorized")
	give("s3cret")
	p.shows(".pod", "guarded")
	p.shows("#state", "live")
	s.createPod(t, "watched")
	p.shows(".pod", "watched")

	kept := value[string](p, "JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href])")
	assert.NotContains(t, kept, "s3cret")
	for _, asked := range p.asked {
		assert.NotContains(t, asked, "s3cret")
	}
	p.do(chromedp.Reload())
	p.waitFor("login.open")
	p.hides("main", "guarded")
	assert.Empty(t, p.failed)
}

func TestChromiumIsTheRealOne(t *testing.T) {
	version, err := exec.Command(chromium, "--version").Output()
	require.NoError(t, err, "apt-get install chromium")
	t.Log(strings.TrimSpace(string(version)))
	assert.Contains(t, string(version), "Chromium")
}
