import assert from 'node:assert/strict'
import { chmodSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { Agent, get } from 'node:https'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { runWarder, startInstallation, temporaryHome } from '../testing/installation.ts'
import { ownAuthority, writePkcs12File } from '../testing/own-authority.ts'

const folder = temporaryHome()
const home = temporaryHome()
after(() => {
  for (const path of [folder, home]) rmSync(path, { recursive: true, force: true })
})

/** The certificate that a connection was made with, and whether the request was answered. */
function shown(
  url: string,
  ca: string,
  agent: Agent,
): Promise<{ readonly serial: string; readonly status: number | undefined }> {
  return new Promise((resolve, reject) => {
    get(`${url}/public/version`, { ca, agent }, (response) => {
      const { socket } = response as unknown as { socket: import('node:tls').TLSSocket }
      const serial = socket.getPeerX509Certificate()?.serialNumber ?? ''
      response.resume().once('end', () => resolve({ serial, status: response.statusCode }))
    }).once('error', reject)
  })
}

test('a certificate that is replaced while the service runs is shown to new connections, and no connection is lost', async () => {
  const authority = await ownAuthority(folder)
  const first = await authority.certificate('AUTH', [], ['127.0.0.1'])
  const { AUTH_TLS_CERT_FILE: cert = '', AUTH_TLS_KEY_FILE: key = '' } = first
  const files = { cert: join(home, 'own.crt'), key: join(home, 'own.key') }
  const put = (from: { readonly cert: string; readonly key: string }): void => {
    writeFileSync(files.key, readFileSync(from.key))
    writeFileSync(files.cert, readFileSync(from.cert))
  }
  put({ cert, key })
  const warder = await startInstallation({
    home,
    env: {
      AUTH_TLS_CERT_FILE: files.cert,
      AUTH_TLS_KEY_FILE: files.key,
      KMS_AUTH_VERIFIER_CA_CERT: authority.caFile,
    },
  })
  const kept = new Agent({ keepAlive: true, maxSockets: 1 })
  try {
    const ca = readFileSync(authority.caFile, 'utf8')
    const before = await shown(warder.authUrl, ca, kept)
    const second = await authority.certificate('AUTH', [], ['127.0.0.1'])
    put({ cert: second.AUTH_TLS_CERT_FILE ?? '', key: second.AUTH_TLS_KEY_FILE ?? '' })
    let fresh = before
    while (fresh.serial === before.serial) {
      fresh = await shown(warder.authUrl, ca, new Agent({ keepAlive: false }))
      assert.equal(fresh.status, 200)
    }
    assert.deepEqual(await shown(warder.authUrl, ca, kept), before)
  } finally {
    kept.destroy()
    assert.equal(await warder.stop(), 0, warder.output())
  }
})

test('a PKCS#12 file that is replaced, with its password, is shown to new connections, and a wrong one is not', async () => {
  const authority = await ownAuthority(folder)
  const [p12, passwordFile, room] = [join(folder, 'auth.p12'), join(folder, 'password'), temporaryHome()]
  const put = async (password: string): Promise<void> => {
    const issued = await authority.certificate('AUTH', [], ['127.0.0.1'])
    const pair = { cert: issued.AUTH_TLS_CERT_FILE ?? '', key: issued.AUTH_TLS_KEY_FILE ?? '' }
    writeFileSync(passwordFile, `${password}\n`, { mode: 0o600 })
    await writePkcs12File(p12, password, pair)
  }
  await put('first')
  const env = {
    AUTH_TLS_P12_FILE: p12,
    AUTH_TLS_P12_PASSWORD_FILE: passwordFile,
    KMS_AUTH_VERIFIER_CA_CERT: authority.caFile,
  }
  const warder = await startInstallation({ home: room, env })
  try {
    const ca = readFileSync(authority.caFile, 'utf8')
    const look = () => shown(warder.authUrl, ca, new Agent({ keepAlive: false }))
    const before = await look()
    writeFileSync(passwordFile, 'wrong\n')
    while (!warder.output().includes('certificates cannot be used'))
      await new Promise((go) => setTimeout(go, 20))
    assert.deepEqual(await look(), before)
    await put('second')
    let fresh = before
    while (fresh.serial === before.serial) fresh = await look()
    assert.equal(fresh.status, 200)
    assert.doesNotMatch(warder.output(), /"(?:first|second)"/)
    const check = () => runWarder(['check', '--home', room], env)
    const good = await check()
    assert.equal(good.code, 0, good.out + good.err)
    chmodSync(p12, 0o644)
    assert.match(
      (await check()).err,
      /tls_p12_file: \S+auth\.p12 can be read by others \(mode 0644\): chmod 600/,
    )
    chmodSync(p12, 0o600)
    writeFileSync(passwordFile, 'wrong\n')
    assert.match(
      (await check()).err,
      /tls_p12_file: \S+auth\.p12 cannot be used: The password does not open the PKCS#12 file\. Check tls_p12_password_file\./,
    )
    for (const [more, told] of [
      [{ AUTH_TLS_P12_PASSWORD: 'x' }, /tls_p12_password_file is set and tls_p12_password too/],
      [
        { AUTH_TLS_CERT_FILE: 'a', AUTH_TLS_KEY_FILE: 'b' },
        /tls_p12_file is set \(\S+\) and tls_cert_file too \(a\)/,
      ],
      [{ AUTH_TLS_P12_FILE: '' }, /tls_p12_password_file requires tls_p12_file/],
    ] as const)
      assert.match((await runWarder(['check', '--home', room], { ...env, ...more })).err, told)
  } finally {
    assert.equal(await warder.stop(), 0, warder.output())
    rmSync(room, { recursive: true, force: true })
  }
})
