import assert from 'node:assert/strict'
import { rmSync, writeFileSync } from 'node:fs'
import { after, test } from 'node:test'
import { quietLog } from '@warder/base/testing'
import { createHeldClock, day, issue, newFolder, writeFiles } from '@warder/server/testing'
import { createMetrics } from '../metrics.ts'
import { watchCertificates } from './primary-certificates.ts'

const folder = newFolder()
after(() => rmSync(folder, { recursive: true, force: true }))

/** A watch over one pair that ends in so many days. */
async function createWatch(
  days: number,
  more: {
    readonly renew?: () => Promise<void>
    readonly usable?: boolean
    readonly readDecrypted?: () => string | undefined
  } = {},
) {
  const name = `pair-${Math.random().toString(36).slice(2)}`
  const files = writeFiles(folder, name, await issue({ notAfter: new Date(Date.now() + days * day) }))
  const lines: string[] = []
  const clock = createHeldClock()
  const metrics = createMetrics()
  let reloads = 0
  const say = (_fields: object, message: string): void => void lines.push(message)
  const watch = watchCertificates({
    files: [files.certFile, files.keyFile],
    ...(more.renew && { renew: more.renew }),
    ...(more.readDecrypted && { readDecrypted: more.readDecrypted }),
    reload() {
      reloads += 1
      return more.usable ?? true
    },
    clock,
    log: { ...quietLog, warn: say, error: say },
    metrics,
  })
  after(() => watch.stop())
  return { watch, clock, lines, metrics, files, reloads: () => reloads, name }
}

test('a certificate that ends is told 30, 7 and 1 days before, once each, and when it has ended', async () => {
  const { watch, clock, lines, metrics } = await createWatch(40)
  const after = async (days: number): Promise<void> => {
    clock.advance(days * day)
    await watch.check()
    await watch.check()
  }
  assert.deepEqual(lines, [])
  await after(11)
  assert.deepEqual(lines, ['a certificate in use expires within 30 days: replace its files'])
  await after(23)
  await after(5.5)
  await after(1)
  assert.deepEqual(lines.slice(1), [
    'a certificate in use expires within 7 days: replace its files',
    'a certificate in use expires within 1 days: replace its files',
    'a certificate in use has expired: clients refuse it',
  ])
  assert.match(await metrics.exposition(), /warder_certificate_end_timestamp_seconds \d{10}/)
})

test('replaced files are loaded, and their expiry is watched from then on', async () => {
  const { watch, clock, lines, name, reloads } = await createWatch(2)
  assert.equal(lines.length, 1)
  await watch.check()
  assert.equal(reloads(), 0)
  writeFiles(folder, name, await issue({ notAfter: new Date(Date.now() + 400 * day) }))
  await watch.check()
  await watch.check()
  assert.equal(reloads(), 1)
  clock.advance(100 * day)
  await watch.check()
  assert.equal(lines.length, 1)
})

test('the expiry of an encrypted file is that of the certificate that was read from it', async () => {
  const { certificatePem } = await issue({ notAfter: new Date(Date.now() + 5 * day) })
  const { lines } = await createWatch(100, { readDecrypted: () => certificatePem })
  assert.deepEqual(new Set(lines), new Set(['a certificate in use expires within 7 days: replace its files']))
})

test('files that cannot be used are tried again when they change', async () => {
  const { watch, files, reloads } = await createWatch(100, { usable: false })
  writeFileSync(files.certFile, 'half')
  await watch.check()
  await watch.check()
  assert.equal(reloads(), 1)
  writeFileSync(files.certFile, 'more than half')
  await watch.check()
  assert.equal(reloads(), 2)
})

test('the service renews its own each hour, and goes on when that fails', async () => {
  let renewals = 0
  const { watch, clock, lines } = await createWatch(100, {
    async renew() {
      renewals += 1
      if (renewals === 1) throw new Error('the disk is full')
    },
  })
  await watch.check()
  assert.equal(renewals, 0)
  for (let hour = 1; hour <= 3; hour += 1) {
    clock.advance(3_600_000)
    await watch.check()
    await watch.check()
    assert.equal(renewals, hour)
  }
  assert.deepEqual(lines, ['certificates cannot be renewed; the next attempt is in an hour'])
})

test('a clock that is set makes the service look at its own certificates at once', async () => {
  let renewals = 0
  const { watch, clock } = await createWatch(100, {
    async renew() {
      renewals += 1
    },
  })
  clock.set(-10 * day)
  await watch.check()
  await watch.check()
  assert.equal(renewals, 1)
  clock.set(0)
  await watch.check()
  assert.equal(renewals, 2)
})
