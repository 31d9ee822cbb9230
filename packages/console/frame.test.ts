import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, describe, it } from 'node:test'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { caller } from '@warder/kms/testing'
import { type Console, missingChromium, startConsole } from './testing/console.ts'

/** Compressed size of what `index.html` loads, with the room of the login. */
const maxFirstPaintBytes = 150 * 1024

const showTab = 'document.dispatchEvent(new Event("visibilitychange", { bubbles: true }))'

describe('the page of the console', { skip: missingChromium }, () => {
  let started: Console
  before(async () => {
    started = await startConsole()
  })
  after(() => started[Symbol.asyncDispose]())

  it('loads less than 150 KiB, compressed, from its own origin alone, until a user can log in', async () => {
    await using opened = await started.open()
    const { page } = opened
    const sizes: Promise<number>[] = []
    const refused: string[] = []
    page.on('response', (response) => {
      if (response.status() >= 400) refused.push(response.url())
      assert.equal(new URL(response.url()).origin, started.origins.auth)
      sizes.push(
        response
          .request()
          .sizes()
          .then(({ responseBodySize }) => responseBodySize),
      )
    })
    await opened.goTo('auth', '/')
    await page.waitForLoadState('networkidle')
    const total = (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0)
    assert.ok(total > 50_000 && total < maxFirstPaintBytes, String(total))
    assert.deepEqual(refused, [], 'nothing is asked that needs a login')
  })

  it('has a policy without inline code, and is compressed as the client accepts it', async () => {
    const { authUrl, kmsUrl, caFile } = started.installation
    for (const url of [authUrl, kmsUrl]) {
      const wire = caller({ port: Number(new URL(url).port), ca: readFileSync(caFile, 'utf8') }, [])
      const get = (path: string, headers: Readonly<Record<string, string>> = {}) =>
        wire.call('GET', path, { headers })
      const plain = await get('/ui/any/room?with=parameters')
      const policy = String(plain.headers['content-security-policy'])
      assert.doesNotMatch(policy, /unsafe|\*|http/)
      assert.match(policy, /default-src 'none'.*frame-ancestors 'none'.*require-trusted-types-for 'script'/)
      assert.equal(plain.headers['cache-control'], 'no-store')
      assert.doesNotMatch(plain.text, /<style|<script(?! type="module" crossorigin src="\/ui\/assets\/)/)
      const script = /src="([^"]+)"/.exec(plain.text)?.[1] ?? ''
      const whole = await get(script)
      assert.equal(whole.headers['cache-control'], 'public, max-age=31536000, immutable')
      for (const [accepted, encoding, decompress] of [
        ['gzip, deflate, br;q=0.5', 'br', brotliDecompressSync],
        ['br;q=0, gzip', 'gzip', gunzipSync],
      ] as const) {
        const { headers, bytes } = await get(script, { 'accept-encoding': accepted })
        assert.equal(headers['content-encoding'], encoding)
        assert.equal(headers.vary, 'Accept-Encoding')
        assert.equal(decompress(bytes).toString('utf8'), whole.text)
      }
      for (const path of [
        '/ui/assets/..%2findex.html',
        '/ui/assets/%2e%2e',
        '/ui/assets/none.js',
        '/ui/assets/../index.html',
      ])
        assert.ok([400, 404].includes((await get(path)).status) || path.endsWith('/../index.html'), path)
      assert.equal((await get('/', { accept: 'application/json' })).status, 404)
      const toPage = await get('/', { accept: 'text/html' })
      assert.deepEqual([toPage.status, toPage.headers.location], [302, '/ui/'])
    }
  })

  it('is shown in no frame of another page', async () => {
    await using opened = await started.open()
    const { page } = opened
    await page.route('https://evil.example/', (route) =>
      route.fulfill({
        contentType: 'text/html',
        body: `<iframe src="${started.origins.auth}/ui/"></iframe>`,
      }),
    )
    await page.goto('https://evil.example/')
    const [, frame] = page.frames()
    assert.equal(frame?.url(), 'chrome-error://chromewebdata/')
  })

  it('changes and ends nothing for a page of another origin, by any method or form', async () => {
    await using opened = await started.open()
    const { page } = opened
    await opened.logIn('_', 'admin', started.installation.password)
    const other = await opened.context.newPage()
    await other.route('https://evil.example/**', (route) =>
      route.fulfill({ contentType: 'text/html', body: '<!doctype html><title>Other</title>' }),
    )
    await other.goto('https://evil.example/')
    const { auth } = started.origins
    await other.evaluate(`(async () => {
      const send = (method, path, mode) => fetch('${auth}' + path, { method, mode, credentials: 'include' }).catch(() => undefined)
      await send('POST', '/logout', 'no-cors')
      for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) await send(method, '/account/sessions', 'cors')
      await send('DELETE', '/realms/_/userpass/admin', 'cors')
    })()`)
    await other.setContent(`<form method="post" action="${auth}/logout"><button>Send</button></form>`)
    await other.getByRole('button').click()
    await other.waitForURL(`${auth}/logout`)
    assert.match(await other.content(), /forbidden/)
    await page.reload()
    await page.locator('dd').filter({ hasText: 'admin' }).first().waitFor()
  })

  it('shows nothing of a user after the logout, when the browser goes back', async () => {
    await using opened = await started.open()
    const { page } = opened
    await opened.logIn('_', 'admin', started.installation.password)
    await page.locator('dd').first().waitFor()
    await opened.goTo('auth', '/ui/overview?again')
    await page.getByRole('button', { name: 'Log out' }).click()
    await page.getByLabel('Realm').waitFor()
    await page.goBack()
    await page.getByLabel('Realm').waitFor()
    assert.equal(await page.locator('dd').count(), 0)
    assert.equal(await page.getByRole('button', { name: 'Log out' }).count(), 0)
    opened.assertNoErrors()
  })

  it('shows the user of the session in every tab, also when another tab changes it', async () => {
    const password = await started.createUser('gina')
    await using opened = await started.open()
    const { page, context } = opened
    await opened.logIn('_', 'admin', started.installation.password)
    const other = await context.newPage()
    await other.goto(`${started.origins.auth}/ui/overview`)
    await other.getByRole('button', { name: 'Log out' }).click()
    await other.getByLabel('Realm').fill('_')
    await other.getByRole('button', { name: 'Next' }).click()
    await other.getByLabel('Username').fill('gina')
    await other.getByLabel('Password').fill(password)
    await other.getByRole('button', { name: 'Log in', exact: true }).click()
    await other.locator('dd').filter({ hasText: 'gina' }).waitFor()
    await page.bringToFront()
    await page.evaluate(showTab)
    await page.locator('dd').filter({ hasText: 'gina' }).waitFor()
    assert.equal(await page.getByText('all realms').count(), 0)
    opened.assertNoErrors()
  })

  it('works at the width of a phone, with the keyboard, and names rooms and documents', async () => {
    await using opened = await started.open({ width: 320, height: 640 })
    const { page } = opened
    await opened.logIn('_', 'admin', started.installation.password)
    await page.locator('dd').first().waitFor()
    const overflow = await page.evaluate('document.documentElement.scrollWidth - innerWidth')
    assert.equal(overflow, 0)
    await opened.assertAccessible()
    await opened.goTo('auth', '/ui/no/such/room')
    await page.getByRole('heading', { name: 'There is no such page' }).waitFor()
    await page.keyboard.press('Tab')
    assert.equal(await page.evaluate('document.activeElement.textContent'), 'Skip to the content')
    await page.getByRole('link', { name: 'To the start' }).press('Enter')
    await page.getByRole('heading', { name: 'First steps' }).waitFor()
    assert.equal(await page.evaluate('document.activeElement.tagName'), 'H1')
    await page.getByLabel('Colours').selectOption('Dark')
    await opened.goTo('auth', '/ui/overview')
    await page.locator('dd').first().waitFor()
    assert.equal(await page.evaluate('document.documentElement.dataset.theme'), 'dark')
    await opened.assertAccessible()
  })
})
