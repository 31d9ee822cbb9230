import assert from 'node:assert/strict'
import { createHash, X509Certificate } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { connect } from 'node:tls'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { type Installation, startInstallation } from 'warder/testing'
import { buildConsole } from '../build.ts'

/** Chromium, where Debian and most distributions install it. */
const executablePath = ['/usr/bin/chromium', '/usr/bin/chromium-browser'].find((path) => existsSync(path))
/** For `skip` of a test. */
export const missingChromium = executablePath === undefined ? 'Chromium is not installed' : false

const axeFile = createRequire(import.meta.url).resolve('axe-core/axe.min.js')
/** WCAG 2.2, levels A and AA, and the good practices that axe knows. */
const axeTags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']

const reportViolations = `document.addEventListener('securitypolicyviolation', (event) =>
  console.error('policy: ' + event.violatedDirective + ' ' + event.blockedURI + ' ' + event.sourceFile))`

type Service = 'auth' | 'kms'
interface PageOptions {
  readonly width?: number
  readonly height?: number
  readonly colorScheme?: 'light' | 'dark'
}

/** A page of a browser without cookies. It fails on errors in its console and on violations of its policy. */
export interface OpenPage extends AsyncDisposable {
  readonly page: Page
  readonly context: BrowserContext
  /** Goes to a path of a service and waits until the room is shown. */
  goTo(service: Service, path: string): Promise<void>
  /** Logs in at auth with a password. */
  logIn(realm: string, username: string, password: string): Promise<void>
  /** Goes to a room of the kms, and logs in at auth on the way. */
  logInAtKms(path: string, realm: string, username: string, password: string): Promise<void>
  /** @throws AssertionError with each violation of WCAG 2.2 AA, each error in the console and each of the policy */
  assertAccessible(): Promise<void>
  /** @throws AssertionError with each error in the console and each violation of the policy so far */
  assertNoErrors(): void
}

/** Both services and a browser. */
export interface Console extends AsyncDisposable {
  readonly installation: Installation
  readonly browser: Browser
  /** As browsers reach them. */
  readonly origins: Readonly<Record<Service, string>>
  /** Calls an operation of a service as the super administrator, with success. @returns its reply */
  admin(service: Service, method: string, path: string, json?: unknown): Promise<unknown>
  /** Creates a user with the password `the password of NAME`. @param realm default `_` */
  createUser(
    username: string,
    options?: { readonly realm?: string; readonly mustChange?: boolean },
  ): Promise<string>
  open(options?: PageOptions): Promise<OpenPage>
}

/** Starts both services with new homes, and Chromium, which trusts their certificates. */
export async function startConsole(env: Readonly<Record<string, string>> = {}): Promise<Console> {
  await buildConsole()
  const installation = await startInstallation({ env })
  const keys = await Promise.all([installation.authUrl, installation.kmsUrl].map(readServerKey))
  const browser = await chromium.launch({
    executablePath: executablePath ?? '',
    args: [
      ...['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
      `--ignore-certificate-errors-spki-list=${keys.join(',')}`,
    ],
  })
  // Passkeys belong to a name, so that logins are at this one.
  const toOrigin = (url: string): string => `https://localhost:${new URL(url).port}`
  const origins = { auth: toOrigin(installation.authUrl), kms: toOrigin(installation.kmsUrl) }
  const admin = createAdmin(installation)
  return {
    installation,
    browser,
    origins,
    admin,
    async createUser(username, { realm = '_', mustChange = false } = {}) {
      const plaintext = `the password of ${username}`
      const json = { username, password_input: { plaintext }, change_password: mustChange }
      await admin('auth', 'POST', `/realms/${realm}/userpass`, json)
      return plaintext
    },
    open: (options) => openPage(browser, origins, options),
    async [Symbol.asyncDispose]() {
      await browser.close()
      await installation.stop()
    },
  }
}

function createAdmin(installation: Installation): Console['admin'] {
  let token: Promise<string> | undefined
  return async (service, method, path, json) => {
    token ??= installation.adminToken()
    const client = installation.client(service)
    try {
      const headers: Record<string, string> =
        service === 'auth' ? { cookie: `_ea_=${await token}` } : { authorization: `Bearer ${await token}` }
      const answer = await client.ask(path, { method, headers, json })
      assert.ok(answer.status < 300, `${method} ${path}: ${answer.status} ${answer.text}`)
      return answer.json
    } finally {
      client.close()
    }
  }
}

/** SHA-256 of the public key of a service's certificate. */
function readServerKey(url: string): Promise<string> {
  const { hostname: host, port } = new URL(url)
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port: Number(port), rejectUnauthorized: false }, () => {
      const { raw } = socket.getPeerCertificate()
      socket.destroy()
      const key = new X509Certificate(raw).publicKey.export({ format: 'der', type: 'spki' })
      resolve(createHash('sha256').update(key).digest('base64'))
    })
    socket.on('error', reject)
  })
}

async function openPage(
  browser: Browser,
  origins: Readonly<Record<Service, string>>,
  { width = 1200, height = 800, colorScheme = 'light' }: PageOptions = {},
): Promise<OpenPage> {
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme,
    reducedMotion: 'reduce',
  })
  await context.grantPermissions(['clipboard-read', 'clipboard-write'])
  const page = await context.newPage()
  const problems: string[] = []
  page.on('console', (message) => {
    // Before a login the services answer 401, which Chromium reports as an error of the page.
    if (message.type() === 'error' && !/status of 4\d\d/.test(message.text())) problems.push(message.text())
  })
  page.on('pageerror', (error) => problems.push(String(error)))
  await page.addInitScript({ content: reportViolations })
  const assertNoErrors = (): void => assert.deepEqual(problems, [])
  return {
    page,
    context,
    async goTo(service, path) {
      await page.goto(`${origins[service]}${path}`)
      await page.locator('h1').first().waitFor()
    },
    async logIn(realm, username, password) {
      // Not to the start, which is that of the first steps for the first administrator.
      await page.goto(`${origins.auth}/ui/login?${new URLSearchParams({ realm, to: '/ui/overview' })}`)
      await page.getByLabel('Username').fill(username)
      await page.getByLabel('Password').fill(password)
      await page.getByRole('button', { name: 'Log in', exact: true }).click()
      await page.getByRole('button', { name: 'Log out' }).waitFor()
    },
    async logInAtKms(path, realm, username, password) {
      await page.goto(`${origins.kms}${path}`)
      await page.getByRole('link', { name: 'Log in', exact: true }).click()
      await page.getByLabel('Realm').fill(realm)
      await page.getByRole('button', { name: 'Next' }).click()
      await page.getByLabel('Username').fill(username)
      await page.getByLabel('Password').fill(password)
      await page.getByRole('button', { name: 'Log in', exact: true }).click()
      await page.waitForURL(`${origins.kms}/**`)
      await page.getByRole('button', { name: 'Log out' }).waitFor()
    },
    async assertAccessible() {
      await page.evaluate(readFileSync(axeFile, 'utf8'))
      const options = JSON.stringify({ runOnly: { type: 'tag', values: axeTags } })
      const found = await page.evaluate(`axe.run(document, ${options})`)
      const { violations } = found as { readonly violations: readonly Violation[] }
      assert.deepEqual(
        violations.map(({ id, help, nodes }) => `${id}: ${help}: ${nodes.map(({ html }) => html).join(' ')}`),
        [],
      )
      assertNoErrors()
    },
    assertNoErrors,
    [Symbol.asyncDispose]: () => context.close(),
  }
}

interface Violation {
  readonly id: string
  readonly help: string
  readonly nodes: readonly { readonly html: string }[]
}
