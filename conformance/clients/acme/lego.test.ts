import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { canRun } from '../run-program.ts'
import { type AcmeWorld, startAcmeWorld } from './world.ts'

/** The library of lego (Go), against a started Warder: every way of proof, renewal information, key rollover. */
const source = fileURLToPath(new URL('./lego', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'warder-lego-'))
const program = join(folder, 'lego')
after(() => rmSync(folder, { recursive: true, force: true }))
/** Only with what is on this machine: a test fetches nothing. */
const build = ['build', '-C', source, '-o', program, '.']
const skip = canRun('go', build, { GOPROXY: 'off', GOFLAGS: '-mod=readonly', GOTOOLCHAIN: 'local' })
  ? false
  : 'lego is not here: it takes Go 1.26, and once `go mod download` in conformance/clients/acme/lego'

/** A line of the driver: what is to be published, or a step that worked. */
interface Line {
  readonly publish?: 'http-01' | 'dns-01' | 'tls-alpn-01'
  readonly name?: string
  readonly value?: string
  readonly key?: string
  readonly step?: string
}

test('lego proves names in three ways, renews when it is told, revokes, and changes its key', {
  skip,
  timeout: 120_000,
}, async () => {
  await using world = await startAcmeWorld()
  const steps = await drive(world)
  const certificate = (step: string) => new X509Certificate(steps.get(step) ?? '')
  assert.deepEqual(
    [...steps.keys()],
    [
      'account',
      ...['http-01', 'tls-alpn-01', 'dns-01'],
      ...['renewal information', 'renew', 'revoke', 'key rollover', 'deactivate'],
    ],
  )
  assert.equal(certificate('http-01').subjectAltName, 'DNS:http.lego.test, IP Address:127.0.0.1')
  assert.equal(certificate('tls-alpn-01').subjectAltName, 'DNS:tls.lego.test')
  assert.equal(certificate('dns-01').subjectAltName, 'DNS:*.lego.test')
  const [revoked, renewed] = [certificate('revoke'), certificate('renew')]
  assert.equal(await world.stateOf(revoked.serialNumber), 'revoked')
  assert.equal(await world.stateOf(renewed.serialNumber), 'valid')
})

/** @returns what came with each step, in their order */
async function drive({ warder, web, dns, tls, ...world }: AcmeWorld): Promise<ReadonlyMap<string, string>> {
  const driver = spawn(program, { env: { ...process.env, LEGO_CA_CERTIFICATES: warder.caFile } })
  driver.stdin.on('error', () => undefined)
  let complaint = ''
  driver.stderr.on('data', (text) => {
    complaint += text
  })
  const ended = new Promise<number | null>((resolve) => driver.once('close', resolve))
  driver.stdin.write(`${JSON.stringify(await world.credential())}\n`)
  const steps = new Map<string, string>()
  for await (const text of createInterface({ input: driver.stdout })) {
    const { publish, step, name = '', value = '', key = '' } = JSON.parse(text) as Line
    if (step !== undefined) steps.set(step, value)
    else {
      if (publish === 'http-01') web.answers.set(name, value)
      else if (publish === 'dns-01') dns.texts.set(name.replace(/\.$/, '').toLowerCase(), value)
      else tls.show({ cert: value, key })
      driver.stdin.write('\n')
    }
  }
  assert.equal(await ended, 0, complaint)
  return steps
}
