import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, before, test } from 'node:test'
import { type Installation, startInstallation } from 'warder/testing'
import { root } from '../../scripts/bundle/entry-points.ts'
import { stageClient } from '../../scripts/package/client.ts'
import { packFolder } from '../../scripts/package/pack.ts'
import { missingBrowser, openInBrowser } from './browser.ts'

const folder = mkdtempSync(join(tmpdir(), 'warder-client-'))
const installed = join(folder, 'installed')
const client = join(installed, 'node_modules/@warder/client')
/** The Node of the user who installs it, not the one that runs the tests. */
const path = (process.env.PATH ?? '')
  .split(':')
  .filter((place) => !place.includes('node_modules'))
  .join(':')
let warder: Installation
/** Final text of the page. */
const told = Promise.withResolvers<string>()
/** Where the page of the browser comes from; the services have to allow it before they start. */
const pages = createServer((request, response) => {
  if (request.method === 'POST') {
    text(request).then(told.resolve, told.reject)
    response.end()
    return
  }
  const [content, type] = pageAt(request.url ?? '')
  response.writeHead(content === undefined ? 404 : 200, { 'content-type': type })
  response.end(content)
})

before(async () => {
  mkdirSync(installed)
  writeFileSync(join(installed, 'package.json'), '{"private":true,"type":"module"}')
  const packed = await packFolder(folder, 'client', stageClient)
  // Without any registry: it needs nothing.
  const { status, stderr } = run('npm', ['install', '--offline', '--no-audit', '--no-fund', packed])
  assert.equal(status, 0, stderr)
  await new Promise<void>((resolve) => pages.listen(0, '127.0.0.1', resolve))
  const origin = `https://127.0.0.1:${(pages.address() as AddressInfo).port}`
  warder = await startInstallation({
    env: { AUTH_CORS_ALLOWED_ORIGINS: origin, KMS_CORS_ALLOWED_ORIGINS: origin },
  })
  const file = (name: string): Buffer => readFileSync(join(warder.home, 'tls', name))
  pages.setSecureContext({ cert: file('auth.crt'), key: file('auth.key') })
})

after(async () => {
  pages.closeAllConnections()
  pages.close()
  await warder?.stop()
  rmSync(folder, { recursive: true, force: true })
})

function run(program: string, words: readonly string[]) {
  const env = { ...process.env, PATH: path, NODE_OPTIONS: '' }
  return spawnSync(program, words, { cwd: installed, env, encoding: 'utf8', timeout: 120_000 })
}

/** The examples of one language in the README that was installed, with the addresses of the started services. */
function examples(language: 'js' | 'ts'): string {
  const readme = readFileSync(join(client, 'README.md'), 'utf8')
  const found = [...readme.matchAll(new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``, 'g'))]
  assert.ok(found.length > 1)
  return found
    .map((match) => match[1] ?? '')
    .join('\n')
    .replaceAll("'https://auth.example.com:8443'", JSON.stringify(warder.authUrl))
    .replaceAll("'https://kms.example.com:9998'", JSON.stringify(warder.kmsUrl))
    .replaceAll("'ca.crt'", JSON.stringify(warder.caFile))
    .replaceAll('process.env.WARDER_PASSWORD', JSON.stringify(warder.password))
}

test('the examples of the README run on the Node of this machine', () => {
  writeFileSync(join(installed, 'example.mjs'), examples('js'))
  const { status, stdout, stderr } = run('node', ['example.mjs'])
  assert.equal(status, 0, stderr)
  assert.deepEqual(stdout.trim().split('\n'), ['attack at dawn', 'not_found', 'admin', "[ '_' ]"])
})

test('programs in TypeScript find the types, with and without those of Node', () => {
  const common =
    'role_id: string, secret_id: string, realm: string, username: string, password: string, url: string, ca: string'
  const [machine = '', browser = ''] = [...examples('ts').split(/(?=^const login)/m)]
  const program = `import { authClient, kmsClient, type Reply } from '@warder/client'
export async function machine(auth: ReturnType<typeof authClient>, ${common}) {
${machine}
  return machine
}
export async function page(auth: ReturnType<typeof authClient>, ${common}) {
${browser.replace('const session =', "if (login.step !== 'Authenticated') return\nconst session =")}
  const key: Reply<'crypto.keys.get'> = await kms.call('crypto.keys.get', { path: { kid: 'k' } })
  // @ts-expect-error a member that is missing
  await kms.call('crypto.sign', { body: { kid: 'k' } })
  // @ts-expect-error no such operation
  await kms.call('crypto.nothing')
  return key
}
`
  writeFileSync(join(installed, 'program.ts'), program)
  cpSync(join(installed, 'program.ts'), join(installed, 'program.mts'))
  const options = ['--noEmit', '--strict', '--target', 'es2022', '--skipLibCheck', 'false', '--types', '']
  for (const [file, ...more] of [
    ['program.mts', '--module', 'nodenext'],
    ['program.ts', '--module', 'esnext', '--moduleResolution', 'bundler', '--customConditions', 'browser'],
  ] as const) {
    const compiler = join(root, 'node_modules/typescript/bin/tsc')
    const words = [compiler, ...options, '--lib', 'es2022,dom,dom.iterable', ...more, file]
    const { status, stdout } = spawnSync(process.execPath, words, { cwd: installed, encoding: 'utf8' })
    assert.equal(status, 0, stdout)
  }
})

/** The page: the modules of the package as they are, and a program that does what the README says. */
function pageAt(url: string): readonly [content: string | Buffer | undefined, type: string] {
  if (url.startsWith('/client/')) {
    try {
      return [
        readFileSync(join(client, url.slice('/client/'.length).replaceAll('..', ''))),
        'text/javascript',
      ]
    } catch {
      return [undefined, 'text/plain']
    }
  }
  if (url !== '/') return [undefined, 'text/plain']
  const { exports } = JSON.parse(readFileSync(join(client, 'package.json'), 'utf8'))
  const entry = `/client/${exports['.'].browser.default.slice(2)}`
  const settings = JSON.stringify({ auth: warder.authUrl, kms: warder.kmsUrl, password: warder.password })
  const page = `<!doctype html><title>page</title>
<script type="importmap">{"imports":{"@warder/client":"${entry}"}}</script>
<script type="module">
import { authClient, ClientError, fromBase64Url, kmsClient, toBase64Url } from '@warder/client'
const { auth: authUrl, kms: kmsUrl, password } = ${settings}
const kindOf = (call) => call.then(() => 'done', (error) => error instanceof ClientError ? error.kind : String(error))
const result = {}
try {
  const [realm, username] = ['_', 'admin']
  const auth = authClient({ url: authUrl })
  result.refused = await kindOf(auth.login({ realm, username, password: 'wrong' }))
  const login = await auth.login({ realm, username, password })
  result.login = [login.step, login.token ?? 'no token', document.cookie]
  const session = await auth.call('sessions.get', { path: { session_id: login.sessionId }, query: { realm } })
  const kms = kmsClient({ url: kmsUrl, credentials: { bearer: session?.cookie_string } })
  const { kid } = await kms.call('crypto.keys.create', { body: { kty: 'oct', alg: 'A256GCM' } })
  const data = toBase64Url(new TextEncoder().encode('attack at dawn'))
  const jwe = await kms.call('crypto.encrypt', { body: { kid, alg: 'dir', enc: 'A256GCM', data } })
  result.opened = new TextDecoder().decode(fromBase64Url((await kms.call('crypto.decrypt', { body: jwe })).data))
  await kms.call('crypto.keys.destroy', { path: { kid } })
  result.destroyed = await kindOf(kms.call('crypto.keys.get', { path: { kid } }))
  await auth.call('sessions.end', { query: { realm }, body: { session_ids: [login.sessionId] } })
  result.ended = [await kindOf(auth.call('whoami', { query: { realm } })), await kindOf(kms.call('server.me'))]
} catch (error) {
  result.error = String(error)
}
await fetch('/', { method: 'POST', body: JSON.stringify(result) })
</script>`
  return [page, 'text/html']
}

test('a page in a browser logs in, uses a key and ends its session', {
  skip: missingBrowser(),
  timeout: 120_000,
}, async () => {
  const { port } = pages.address() as AddressInfo
  await using _ = openInBrowser(`https://127.0.0.1:${port}/`, join(folder, 'profile'))
  assert.deepEqual(JSON.parse(await told.promise), {
    refused: 'unauthorized',
    login: ['Authenticated', 'no token', ''],
    opened: 'attack at dawn',
    destroyed: 'not_found',
    ended: ['unauthorized', 'unauthorized'],
  })
})

test('nothing of the workspace is missing or left over in the installed package', () => {
  const manifest = JSON.parse(readFileSync(join(client, 'package.json'), 'utf8'))
  assert.equal(manifest.dependencies, undefined)
  for (const file of ['index.js', 'index.d.ts', 'LICENSE', 'README.md'])
    assert.ok(existsSync(join(client, file)), file)
  const imported = "(from|import\\() ?'@warder/|\\.test\\."
  for (const pattern of [
    ['-rlE', imported],
    ['-rlF', root],
  ]) {
    const found = spawnSync('grep', [...pattern, client], { encoding: 'utf8' })
    assert.equal(found.stdout.replaceAll(`${client}/README.md\n`, ''), '')
  }
})
