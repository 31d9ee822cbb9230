import assert from 'node:assert/strict'
import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { certificateSigner, generalName, issueRequest, nameFromText, subjectAltName } from '@warder/pki'
import { kmsService } from '../../service/service.ts'
import type { Answer, Caller } from '../../testing/client.ts'
import type { Started } from '../../testing/start.ts'
import { toPem } from '../pem.ts'

/** A key pair and a CSR from an external client. */
export interface Outsider {
  readonly privateKey: KeyObject
  readonly spki: Buffer
  readonly csr: string
  readonly publicKey: string
}

export async function outsider(
  subject: string,
  names: readonly string[] = [],
  type = 'ec',
  options: object = { namedCurve: 'P-256' },
): Promise<Outsider> {
  const { privateKey, publicKey } = generateKeyPairSync(type as 'ec', options as { namedCurve: string })
  const spki = publicKey.export({ format: 'der', type: 'spki' })
  const extensions = names.length === 0 ? [] : [subjectAltName(names.map(generalName))]
  const request = { subject: nameFromText(subject), spki, extensions }
  const csr = toPem('CERTIFICATE REQUEST', await issueRequest(request, certificateSigner(privateKey, spki)))
  return { privateKey, spki, csr, publicKey: toPem('PUBLIC KEY', spki) }
}

/** Authorities of one user: a root and a subordinate. */
export interface Authorities {
  readonly root: { readonly id: string; readonly certificate: string }
  readonly issuing: { readonly id: string; readonly kid: string; readonly certificate: string }
  issue(json: object): Promise<Answer>
}

export async function makeAuthorities(caller: Caller, issuing: object = {}): Promise<Authorities> {
  const path = '/v1/pki/authorities'
  const make = async (json: object) => {
    const { status, text, json: made } = await caller.post(path, { alg: 'ES256', ...json })
    assert.equal(status, 200, text)
    return made
  }
  const root = await make({ subject: 'CN=Root, O=Acme', days: 3650 })
  const below = await make({ subject: 'CN=Issuing, O=Acme', issuer: root.id, path_length: 0, ...issuing })
  return { root, issuing: below, issue: (json) => caller.post(`${path}/${below.id}/certificates`, json) }
}

/** Signs due CRLs and OCSP responses, as the primary does every two seconds. */
export async function runSigning(kms: Started): Promise<void> {
  const job = kmsService.periodic.find(({ name }) => name === 'kms revocation lists and responders')
  if (job?.due === undefined) throw new Error('there is no such job')
  if (await job.due(kms.environment)) await job.run(kms.environment)
}

/** The certificate in a PEM text, or the first of several. */
export function toDer(pem: string): Buffer {
  return Buffer.from(pem.replaceAll(/-----END[\s\S]*$|-----[A-Z ]+-----|\s/g, ''), 'base64')
}
