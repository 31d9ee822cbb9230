import assert from 'node:assert/strict'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { Agent, get } from 'node:https'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { startInstallation, temporaryHome } from '../testing/installation.ts'
import { ownAuthority } from '../testing/own-authority.ts'

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
