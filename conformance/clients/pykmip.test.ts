import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
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
