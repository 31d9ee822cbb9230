import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { canRun, runProgram } from '../run-program.ts'
import { startAcmeWorld } from './world.ts'

/** certbot as it is published, against a started Warder: http-01 with files in the folder of a web server. */
const program = process.env.WARDER_CERTBOT ?? 'certbot'
const skip = canRun(program, ['--version'])
  ? false
  : 'certbot is not here: install it, or set WARDER_CERTBOT to the program'

test('certbot gets a certificate, renews it, revokes it, and ends its account', {
  skip,
  timeout: 240_000,
}, async () => {
  await using world = await startAcmeWorld()
  const { directory, kid, hmac_key: hmacKey } = await world.credential()
  const home = join(world.folder, 'certbot')
  const certbot = async (...words: string[]) => {
    const folders = ['config', 'work', 'logs'].flatMap((name) => [`--${name}-dir`, join(home, name)])
    const ran = await runProgram(program, [...words, '-n', '--server', directory, ...folders], {
      env: { REQUESTS_CA_BUNDLE: world.warder.caFile },
      timeoutMs: 120_000,
    })
    const said = `${ran.out}${ran.err}`
    assert.equal(ran.code, 0, said)
    return said
  }
  const file = join(home, 'config/live/certbot.acme.test/fullchain.pem')
  const readCertificate = () => new X509Certificate(readFileSync(file))

  const names = ['certbot.acme.test', 'other.acme.test'].flatMap((name) => ['-d', name])
  const account = ['--agree-tos', '-m', 'ops@example.com', '--eab-kid', kid, '--eab-hmac-key', hmacKey]
  await certbot('certonly', '--webroot', '-w', world.folder, '--no-eff-email', ...account, ...names)
  const first = readCertificate()
  assert.equal(first.subjectAltName, 'DNS:certbot.acme.test, DNS:other.acme.test')
  assert.equal(readFileSync(file, 'utf8').split('BEGIN CERTIFICATE').length, 3, 'the root is left out')

  assert.match(await certbot('renew'), /not (?:yet )?due for renewal/)
  assert.equal(readCertificate().serialNumber, first.serialNumber)
  await certbot('renew', '--force-renewal', '--no-random-sleep-on-renew')
  const second = readCertificate()
  assert.notEqual(second.serialNumber, first.serialNumber)

  await certbot('revoke', '--cert-path', file, '--reason', 'keycompromise', '--no-delete-after-revoke')
  assert.equal(await world.stateOf(second.serialNumber), 'revoked')
  assert.equal(await world.stateOf(first.serialNumber), 'valid')
  await certbot('unregister')
})
