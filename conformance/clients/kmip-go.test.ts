import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { startOwnServer, type TestServer } from '../server/own-server.ts'
import { clientFiles } from './client-files.ts'
import { canRun, runProgram } from './run-program.ts'

const source = fileURLToPath(new URL('./kmip-go', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'warder-kmip-go-'))
const program = join(folder, 'kmip-go')
/** Only with what is on this machine: a test fetches nothing. */
const build = ['build', '-C', source, '-o', program, '.']
const skip = canRun('go', build, { GOPROXY: 'off', GOFLAGS: '-mod=readonly', GOTOOLCHAIN: 'local' })
  ? false
  : 'kmip-go is not here: it takes Go, and once `go mod download` in conformance/clients/kmip-go'

let server: TestServer
before(async () => {
  if (skip === false) server = await startOwnServer()
})
after(async () => {
  if (skip === false) await server[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true, force: true })
})

const first = ['query', 'create and activate', 'locate', 'attributes', 'register and get']
const last = ['batch with the ID placeholder', 'rekey, lease, archive, recover', 'revoke and destroy', 'done']

for (const version of ['1.0', '1.1', '1.2', '1.3', '1.4', 'any', 'https-ttlv', 'https-xml', 'https-json']) {
  test(`kmip-go does everything it can with KMIP ${version}`, { skip }, async () => {
    const endpoint = await server.as(`kmip-go ${version}`)
    using files = clientFiles(endpoint)
    const { host, port } = endpoint.socket ?? {}
    const address = version.startsWith('https-') ? new URL(endpoint.url ?? '').host : `${host}:${port}`
    const { code, out, err } = await runProgram(program, [address, files.ca, files.cert, files.key, version])
    assert.equal(code, 0, err)
    const steps = out.toString('utf8').trim().split('\n')
    const crypt = version >= '1.2' ? ['encrypt and decrypt', 'refused: a changed ciphertext'] : []
    const sign = version >= '1.4' ? ['sign as a crypto.Signer'] : []
    for (const step of [...first, ...crypt, ...sign, ...last, 'refused: destroying an active key'])
      assert.ok(steps.includes(step), `${step}\n${out}`)
  })
}
