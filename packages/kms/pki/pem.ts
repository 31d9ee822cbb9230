import { failure } from '@warder/base'
import { derInBase64 } from '@warder/pki'

/** Maximum number of certificates in one request. */
const maxCertificates = 10
const block = /-----BEGIN ([A-Z0-9 ]{1,40})-----([A-Za-z0-9+/=\s]{1,100000})-----END \1-----/g

/** RFC 7468. */
export function toPem(label: string, der: Uint8Array): string {
  const lines =
    Buffer.from(der)
      .toString('base64')
      .match(/.{1,64}/g) ?? []
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`
}

export function certificatePem(der: Uint8Array): string {
  return toPem('CERTIFICATE', der)
}

/** DER of the certificates in a text, in their order, or of one in base64. @throws failure('bad_request') for none, or too many */
export function certificatesIn(text: string): readonly Buffer[] {
  const single = derInBase64(text)
  if (single !== undefined) return [single]
  const found = [...text.matchAll(block)].filter(([, label]) => label === 'CERTIFICATE')
  if (found.length === 0) throw failure('bad_request', 'certificate: contains no certificate in PEM.')
  if (found.length > maxCertificates)
    throw failure('bad_request', `certificate: contains more than ${maxCertificates} certificates.`)
  return found.map(([, , body = '']) => Buffer.from(body, 'base64'))
}

/** DER of a public key in PEM, or in base64 (SubjectPublicKeyInfo). @throws failure('bad_request') */
export function publicKeyIn(text: string): Buffer {
  const single = derInBase64(text)
  if (single !== undefined) return single
  const [found] = [...text.matchAll(block)].filter(([, label]) => label === 'PUBLIC KEY')
  if (found === undefined)
    throw failure('bad_request', 'public_key: must be a public key in PEM (BEGIN PUBLIC KEY).')
  return Buffer.from(found[2] ?? '', 'base64')
}
