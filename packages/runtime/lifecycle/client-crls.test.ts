import assert from 'node:assert/strict'
import { cpSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { systemClock } from '@warder/base'
import { quietLog } from '@warder/base/testing'
import { ensureLocalAuthority, listClientCertificates, revokeClientCertificates } from '@warder/server'
import { createHeldClock, newFolder } from '@warder/server/testing'
import { openClientCrls } from './client-crls.ts'
import type { RuntimeConfig } from './launch.ts'

const home = newFolder()
after(() => rmSync(home, { recursive: true }))
const tls = join(home, 'tls')
mkdirSync(tls)
const certificates = [{ name: 'client', commonName: 'device', purpose: 'client' }] as const
await ensureLocalAuthority({ folder: tls, clock: systemClock, certificates })
const config = (more: Partial<RuntimeConfig>) =>
  ({
    plaintext_http: false,
    clients_ca_cert_file: 'tls/ca.crt',
    clients_crl_files: [],
    clients_crl_failure_mode: 'continue',
    ...more,
  }) as unknown as RuntimeConfig
const countRevoked = (revoked: { readonly revoked: SharedArrayBuffer } | undefined) =>
  revoked === undefined ? undefined : revoked.revoked.byteLength / 8

test('the CRL of the local authority is read when it appears, and a change of a file is told', async () => {
  const crls = openClientCrls(config({}), home, systemClock, quietLog)
  assert.equal(crls.read(), undefined, 'nothing was revoked yet')
  let changes = 0
  const stop = crls.watch(() => {
    changes += 1
  })
  const change = async (): Promise<void> => {
    const before = changes
    for (let tries = 0; tries < 200 && changes === before; tries++) await pause(25)
    assert.equal(changes, before + 1)
  }
  await revokeClientCertificates(tls, listClientCertificates(tls), 'keyCompromise', systemClock)
  await change()
  assert.equal(countRevoked(crls.read()), 1)
  // Another file of the same size takes its place.
  writeFileSync(join(tls, 'other'), readFileSync(join(tls, 'ca.crl')))
  renameSync(join(tls, 'other'), join(tls, 'ca.crl'))
  await change()
  stop()
})

test('a CRL that has expired is told once, when it is read or later', async () => {
  const named = { clients_ca_cert_file: 'own.crt', clients_crl_files: ['own.crl'] }
  cpSync(join(tls, 'ca.crt'), join(home, 'own.crt'))
  cpSync(join(tls, 'ca.crl'), join(home, 'own.crl'))
  const clock = createHeldClock()
  const told: unknown[] = []
  const log = { ...quietLog, warn: (fields: object) => void told.push(fields) }
  const crls = openClientCrls(config(named), home, clock, log)
  assert.equal(crls.read()?.strict, false)
  assert.deepEqual(told, [])
  const stop = crls.watch(() => undefined)
  clock.advance(20 * 365 * 86_400_000)
  for (let tries = 0; tries < 200 && told.length === 0; tries++) await pause(25)
  await pause(600)
  assert.deepEqual(told, [{ file: join(home, 'own.crl'), mode: 'continue' }])
  stop()
})

test('files that cannot be used, and CRLs without an authority, are refused', () => {
  const missing = openClientCrls(config({ clients_crl_files: ['none.crl'] }), home, systemClock, quietLog)
  assert.throws(() => missing.read(), /clients_crl_files: cannot read .*none\.crl/)
  const alone = { clients_ca_cert_file: undefined, clients_crl_files: ['own.crl'] }
  assert.throws(() => openClientCrls(config(alone), home, systemClock, quietLog), /clients_ca_cert_file/)
})

test('rejecting without a CRL refuses the certificates of every authority but the local one', () => {
  const strict = { clients_crl_failure_mode: 'reject' } as const
  const local = openClientCrls(config(strict), home, systemClock, quietLog).read()
  assert.equal(local?.authorities.length, 1)
  const named = config({ ...strict, clients_ca_cert_file: 'own.crt' })
  assert.deepEqual(openClientCrls(named, home, systemClock, quietLog).read()?.authorities, [])
})
