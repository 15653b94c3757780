package browser

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
)

// contrasts returns, of each text in sight, what its contrast to what is behind it is, if it is less than
// the 4.5 that WCAG 2 wants.
const contrasts = `(() => {
	const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
	const luminance = (color) => {
		canvas.clearRect(0, 0, 1, 1);
		canvas.fillStyle = color;
		canvas.fillRect(0, 0, 1, 1);
		const [r, g, b] = [...canvas.getImageData(0, 0, 1, 1).data].map((part) => part / 255).map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
		return 0.2126 * r + 0.7152 * g + 0.0722 * b;
	};
	const behind = (element) => {
		for (; element; element = element.parentElement) {
			const color = getComputedStyle(element).backgroundColor;
			if (color !== "rgba(0, 0, 0, 0)") return color;
		}
	};
	const low = [];
	let texts = 0;
	for (const element of document.querySelectorAll("body *")) {
		if (!element.checkVisibility() || ![...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.textContent.trim())) continue;
		texts++;
		const [a, b] = [luminance(getComputedStyle(element).color), luminance(behind(element))].sort((a, b) => b - a);
		const contrast = (a + 0.05) / (b + 0.05);
		if (contrast < 4.5) low.push(element.textContent.trim() + ": " + contrast.toFixed(2));
	}
	return texts < 30 ? ["only " + texts + " texts"] : low;
})()`

// background is how light the page is, from 0 to 255.
const background = `Number(getComputedStyle(document.body).backgroundColor.match(/\d+/)[0])`

// It makes the pictures of the documents.
func TestThePageIsReadableInTheLightInTheDarkAndOnAPhone(t *testing.T) {
	s := startCluster(t, threeMachines)
	s.create(t, deployments, "web", "", `{`+replicas(3)+`}`)
	s.createController(t, "db", 2)
	job := `"template": {"metadata": {"annotations": {"hollow.kube2014/exit-code": "0"}}, "spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "migrate:2"}]}}`
	s.create(t, jobs, "migrate", "", `{"spec": {"completions": 2, `+job+`}}`)
	s.create(t, cronJobs, "backup", "", `{"spec": {"schedule": "0 3 * * *", "timeZone": "Etc/UTC", "jobTemplate": {"spec": {`+job+`}}}}`)
	s.createService(t, "web")
	s.createService(t, "db")
	s.send(t, "POST", pods, `{"metadata": {"name": "lost"}, "spec": {"nodeSelector": {"disk": "ssd"}, "containers": [{"name": "main", "image": "nginx"}]}}`)
	s.send(t, "POST", pods, `{"metadata": {"name": "failing", "annotations": {"hollow.kube2014/exit-code": "1", "hollow.kube2014/exit-after": "10ms"}}, "spec": {"containers": [{"name": "main", "image": "nginx"}]}}`)
	p := openPage(t, s)
	p.shows("#controllers li", "3 of 3 there, 3 ready")
	p.shows("#controllers li", "2 of 2 there, 2 ready")
	p.shows(".below li", "3 of 3 there, 3 ready")
	p.shows("#controllers li", "2 of 2 done")
	p.shows("#events li", "FailedScheduling")
	p.shows(".pod", "lost Pending")
	p.shows(".pod", "failing CrashLoopBackOff")
	p.resize(1280, 800, false)
	for _, scheme := range []string{"light", "dark"} {
		p.scheme(scheme)
		p.waitFor(map[string]string{"light": background + " > 200", "dark": background + " < 60"}[scheme])
		assert.Empty(t, value[[]string](p, contrasts), "too little contrast in the "+scheme)
		p.screenshot("page-" + scheme + ".png")
		click(p, chromedp.Search(`//button[contains(., "failing")]`))
		p.shows("#details[open] [data-part=events] li", "BackOff")
		p.waitFor(`document.querySelector("#details .log pre").textContent !== ""`)
		assert.Empty(t, value[[]string](p, contrasts), "too little contrast in the "+scheme)
		click(p, button("Close"))
	}

	p.scheme("light")
	p.resize(360, 740, true)
	s.createPod(t, strings.Repeat("long-", 40)+"name")
	p.shows(".pod", "long-long")
	p.waitFor("innerWidth === 360")
	assert.LessOrEqual(t, value[int](p, "document.documentElement.scrollWidth"), 360, "nothing is to be scrolled sideways")
	assert.Empty(t, value[[]string](p, `[...document.querySelectorAll("button, input, select, a")].filter((e) => e.checkVisibility()).filter((e) => {
		const { left, right } = e.getBoundingClientRect();
		return left < 0 || right > 360;
	}).map((e) => e.outerHTML)`), "all can be reached")
	s.send(t, "DELETE", pods+"/"+strings.Repeat("long-", 40)+"name?gracePeriodSeconds=0", "")
	p.hides(".pod", "long-long")
	p.screenshot("page-phone.png")
	click(p, chromedp.Search(`//button[contains(., "lost")]`))
	p.shows("#details[open]", "machine none yet")
	assert.LessOrEqual(t, value[float64](p, "details.getBoundingClientRect().right"), 360.0)
}
