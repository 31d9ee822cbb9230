import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { systemClock } from '@warder/base'
import { ensureLocalAuthority } from '@warder/server'
import { runWarder, startInstallation } from 'warder/testing'
import { startOwnServer, type TestServer } from '../server/own-server.ts'
import { clientFiles } from './client-files.ts'
import { canRun, runProgram } from './run-program.ts'

const folder = process.env.WARDER_PYKMIP
const env = folder === undefined ? {} : { PYTHONPATH: folder }
const script = fileURLToPath(new URL('./pykmip.py', import.meta.url))
const skip = canRun('python3', ['-c', 'from kmip.pie import client'], env)
  ? false
  : 'PyKMIP is not here: pip install --target FOLDER PyKMIP, and set WARDER_PYKMIP to the folder'

let server: TestServer
before(async () => {
  if (skip === false) server = await startOwnServer()
})
after(async () => {
  if (skip === false) await server[Symbol.asyncDispose]()
})

const material = Buffer.from(Array.from({ length: 32 }, (_, index) => index))
const always = [
  'create',
  'register and get',
  'secret data and opaque objects',
  'locate',
  'attributes',
  'activate',
]
const later = ['encrypt and decrypt', 'sign and verify', 'mac']

for (const version of ['1.0', '1.1', '1.2', '1.3', '1.4', '2.0']) {
  test(`PyKMIP does everything it can with KMIP ${version}`, { skip }, async () => {
    const endpoint = await server.as(`pykmip ${version}`)
    using files = clientFiles(endpoint)
    const { host = '', port = 0 } = endpoint.socket ?? {}
    const place = [host, String(port), files.ca, files.cert, files.key, version]
    const { code, out, err } = await runProgram('python3', [script, ...place], { env })
    assert.equal(code, 0, err)
    const steps = new Map<string, Record<string, unknown>>()
    for (const line of out.toString('utf8').trim().split('\n')) {
      const told = JSON.parse(line) as { step: string }
      steps.set(told.step, told)
    }
    const expected = [
      ...always,
      ...(version < '1.2' ? [] : later),
      'create a key pair',
      'derive',
      'rekey',
      'revoke',
      'destroy',
    ]
    for (const step of expected) assert.ok(steps.has(step), `${step}\n${err}`)
    const derived = createHmac('sha256', material).update('context').digest('hex')
    assert.equal(steps.get('derive')?.key, derived)
    if (version >= '1.2') {
      const mac = createHmac('sha256', material).update('a message').digest('hex')
      assert.equal(steps.get('mac')?.mac, mac)
    }
    const unknown = steps.get('get of what never was')?.reason
    assert.match(String(unknown), /NOT_FOUND/)
  })
}

test("a key of PyKMIP's server wraps the root keys of an installation", { skip }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'warder-pykmip-'))
  const at = (name: string): string => join(folder, name)
  const certificates = [
    { name: 'server', commonName: 'pykmip' },
    { name: 'client', commonName: 'warder', purpose: 'client' },
  ] as const
  await ensureLocalAuthority({ folder, clock: systemClock, certificates })
  const serverScript = fileURLToPath(new URL('./pykmip-server.py', import.meta.url))
  const files = ['ca.crt', 'server.crt', 'server.key', 'client.crt', 'client.key'].map(at)
  const child = spawn('python3', [serverScript, ...files, folder], { env: { ...process.env, ...env } })
  const ended = new Promise((resolve) => child.once('close', resolve))
  t.after(async () => {
    child.stdin.end()
    await ended
    rmSync(folder, { recursive: true, force: true })
  })
  let [out, err] = ['', '']
  child.stderr.on('data', (part: Buffer) => {
    err += part.toString()
  })
  await new Promise<unknown>((resolve) => {
    child.stdout.on('data', (part: Buffer) => {
      out += part.toString()
      if (out.includes('\n')) resolve(undefined)
    })
    void ended.then(resolve)
  })
  assert.ok(out.includes('\n'), err)
  const { port, key } = JSON.parse(out) as { readonly port: number; readonly key: string }
  const settings: Readonly<Record<string, string>> = {
    ROOT_KEY_KMIP_SERVER: `127.0.0.1:${port}`,
    ROOT_KEY_KMIP_KEY_ID: key,
    ROOT_KEY_KMIP_CERT_FILE: at('client.crt'),
    ROOT_KEY_KMIP_KEY_FILE: at('client.key'),
    ROOT_KEY_KMIP_CA_FILE: at('ca.crt'),
    ROOT_KEY_SOURCE: 'kmip',
  }
  const both = Object.entries(settings).flatMap(([name, value]) =>
    ['AUTH', 'KMS'].map((service) => [`${service}_${name}`, value]),
  )
  const warder = Object.fromEntries(both) as Record<string, string>
  const home = at('home')
  mkdirSync(home, { mode: 0o700 })
  const run = async (words: readonly string[], expected: number): Promise<string> => {
    const { code, out, err } = await runWarder([...words, '--home', home], warder)
    assert.equal(code, expected, out + err)
    return out + err
  }
  assert.match(
    await run(['root-key', 'test'], 0),
    /^kms {3}kmip:\S+ 1: a random value was wrapped and unwrapped$/m,
  )
  // The first start creates the root keys, the second unwraps them.
  for (let start = 0; start < 2; start += 1) await (await startInstallation({ home, env: warder })).stop()
  await run(['root-key', 'rotate'], 0)
  assert.match(await run(['root-key', 'show'], 0), /usable {3}yes/)
  child.stdin.end()
  await ended
  assert.match(await run(['root-key', 'show'], 1), /usable {3}no: .*ECONNREFUSED/)
})
