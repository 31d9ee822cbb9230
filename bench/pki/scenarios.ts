import { generateKeyPairSync, randomBytes } from 'node:crypto'
import type { HttpsClient } from '@warder/command-line/https-client'
import {
  certificateSigner,
  generalName,
  issueRequest,
  nameFromText,
  parseCertificate,
  subjectAltName,
} from '@warder/pki'
import { createCertId, ocspRequest } from '@warder/pki/testing'
import type { Installation } from 'warder/testing'
import type { Scenario } from '../scenarios.ts'

/** OCSP answers that are kept, answers that are signed for each request, and certificates that are issued with a record. */
export async function preparePkiScenarios(
  warder: Installation,
  kms: HttpsClient,
): Promise<readonly Scenario[]> {
  const bearer = { Authorization: `Bearer ${await warder.adminToken()}` }
  const ask = async (path: string, json: object) => {
    const answer = await kms.ask(path, { json, headers: bearer })
    if (answer.status !== 200) throw new Error(`${path} answered ${answer.status}: ${answer.text}`)
    return answer.json as Readonly<Record<string, string>>
  }
  const der = (pem = ''): Buffer => Buffer.from(pem.replaceAll(/-----[A-Z ]+-----|\s/g, ''), 'base64')
  const csr = await request()
  const [ec, rsa] = [
    await ask('/v1/pki/authorities', { subject: 'CN=P-256', alg: 'ES256' }),
    await ask('/v1/pki/authorities', { subject: 'CN=RSA', alg: 'RS256' }),
  ]
  const leaf = await ask(`/v1/pki/authorities/${ec.id}/certificates`, { csr })
  const { subject: name, spki } = parseCertificate(der(ec.certificate))
  const id = createCertId('sha1', { name, spki }, parseCertificate(der(leaf.certificate)).serial)
  const get = (what: string, nonce: Buffer | undefined, more: Partial<Scenario> = {}): Scenario => ({
    name: what,
    server: 'kms',
    method: 'GET',
    url: `${warder.kmsUrl}/ocsp/${encodeURIComponent(ocspRequest([id], nonce).toString('base64'))}`,
    headers: {},
    body: undefined,
    // The beginning of every response that is no error: successful, then the answer.
    expect: { status: 200, includes: '\n\u0001\u0000' },
    ...more,
  })
  const issue = (what: string, authority: string | undefined, primitive: string): Scenario => ({
    name: what,
    server: 'kms',
    method: 'POST',
    url: `${warder.kmsUrl}/v1/pki/authorities/${authority}/certificates`,
    headers: bearer,
    body: JSON.stringify({ csr }),
    expect: { status: 200, includes: '"serial"' },
    primitive,
    connections: 64,
  })
  return [
    get('OCSP, the same question (GET)', undefined),
    get('OCSP with a nonce, signed each time', randomBytes(16), { primitive: 'ES256 sign' }),
    issue('issue a certificate, RSA-2048 authority', rsa.id, 'RS256 (2048) sign'),
    issue('issue a certificate, P-256 authority', ec.id, 'ES256 sign'),
  ]
}

/** PEM of a request for a server's certificate. */
async function request(): Promise<string> {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const spki = publicKey.export({ format: 'der', type: 'spki' })
  const extensions = [subjectAltName([generalName('DNS:bench.example')])]
  const wanted = { subject: nameFromText('CN=bench.example'), spki, extensions }
  const base64 = (await issueRequest(wanted, certificateSigner(privateKey, spki))).toString('base64')
  return `-----BEGIN CERTIFICATE REQUEST-----\n${base64}\n-----END CERTIFICATE REQUEST-----\n`
}
