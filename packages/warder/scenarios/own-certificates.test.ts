import assert from 'node:assert/strict'
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { runWarder, startInstallation, temporaryHome } from '../testing/installation.ts'
import { ownAuthority, writePkcs12File } from '../testing/own-authority.ts'

// The command verifies services of an installation that has certificates of its own.

const folder = temporaryHome()
after(() => rmSync(folder, { recursive: true, force: true }))
const authority = await ownAuthority(folder)

const commands = [
  ['try'],
  ['keys', 'create', '--alg', 'A256GCM'],
  ['access', 'me'],
  ['admin', 'realms'],
  ['kmip', 'query'],
] as const

/** Starts with these settings, and runs every kind of command that asks a service. */
async function assertCommandsWork(
  home: string,
  env: Readonly<Record<string, string>>,
  endpoints: { readonly auth: unknown; readonly kms: unknown },
): Promise<void> {
  const warder = await startInstallation({ home, env })
  try {
    const { auth, kms } = JSON.parse(readFileSync(join(home, 'endpoints.json'), 'utf8'))
    assert.deepEqual({ auth: auth.tls, kms: kms.tls }, endpoints)
    for (const words of commands) {
      const { code, out, err } = await runWarder([...words, '--home', home])
      assert.equal(code, 0, `${words.join(' ')}: ${out}${err}`)
    }
  } finally {
    assert.equal(await warder.stop(), 0, warder.output())
    rmSync(home, { recursive: true })
  }
}

test('commands trust the authority that the settings name', async () => {
  const env = {
    ...(await authority.certificate('AUTH', [], ['127.0.0.1'])),
    ...(await authority.certificate('KMS', [], ['127.0.0.1'])),
    KMS_AUTH_VERIFIER_CA_CERT: authority.caFile,
  }
  const tls = { ca_file: authority.caFile }
  await assertCommandsWork(temporaryHome(), env, { auth: tls, kms: tls })
})

test('commands check the name that the certificate has, and trust one whose authority is not known', async () => {
  const { KMS_TLS_CERT_FILE = '', ...others } = await authority.certificate('KMS', ['kms.warder.test'], [])
  const home = temporaryHome()
  mkdirSync(join(home, 'tls'))
  copyFileSync(KMS_TLS_CERT_FILE, join(home, 'tls', 'own.crt'))
  await assertCommandsWork(
    home,
    { ...others, KMS_TLS_CERT_FILE: 'tls/own.crt' },
    { auth: undefined, kms: { server_name: 'kms.warder.test', ca_file: 'tls/own.crt' } },
  )
})

test('commands trust the certificate of a PKCS#12 file, of which they have no password', async () => {
  const { KMS_TLS_CERT_FILE: cert = '', KMS_TLS_KEY_FILE: key = '' } = await authority.certificate(
    'KMS',
    ['kms.warder.test'],
    [],
  )
  const home = temporaryHome()
  const [p12, password] = [join(home, 'kms.p12'), join(folder, 'p12-password')]
  await writePkcs12File(p12, 'open sesame', { cert, key })
  writeFileSync(password, 'open sesame\n', { mode: 0o600 })
  await assertCommandsWork(
    home,
    { KMS_TLS_P12_FILE: 'kms.p12', KMS_TLS_P12_PASSWORD_FILE: password },
    { auth: undefined, kms: { server_name: 'kms.warder.test', ca_file: 'tls/kms.p12.crt' } },
  )
})

test('a certificate of another name or authority than the endpoints say is refused', async () => {
  const home = temporaryHome()
  const warder = await startInstallation({
    home,
    env: await authority.certificate('KMS', ['kms.warder.test'], []),
  })
  try {
    const path = join(home, 'endpoints.json')
    const before = readFileSync(path, 'utf8')
    const { kms, ...others } = JSON.parse(before)
    for (const [tls, told] of [
      [{ ...kms.tls, server_name: 'other.warder.test' }, /does not match certificate's altnames/],
      [{ ...kms.tls, ca_file: 'tls/ca.crt' }, /certificate.*--ca-file/],
      [{ server_name: kms.tls.server_name }, /certificate.*--ca-file/],
    ] as const) {
      writeFileSync(path, JSON.stringify({ ...others, kms: { ...kms, tls } }))
      const { code, err } = await runWarder(['access', 'me', '--home', home])
      assert.deepEqual([code, told.test(err)], [1, true], err)
    }
    writeFileSync(path, before)
  } finally {
    assert.equal(await warder.stop(), 0, warder.output())
    rmSync(home, { recursive: true })
  }
})
