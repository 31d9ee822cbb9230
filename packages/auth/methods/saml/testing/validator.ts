import assert from 'node:assert/strict'
import type { Assertion } from '../assertion.ts'
import type { Expected } from '../checks.ts'
import { validateField } from '../verification-thread.ts'
import { type ResponseWishes, sharedKey, TestIdp } from './test-idp.ts'

/** An identity provider and the expected values of a service provider, without a service. */
export interface Validator {
  readonly idp: TestIdp
  readonly expected: Expected
  readonly wishes: ResponseWishes
  /** XML of a valid response with the given changes. */
  response(more?: Partial<ResponseWishes>): string
  /** Returns the assertion, or the reason of the refusal. */
  validate(xml: string, otherwise?: Partial<Expected>): Assertion | string
}

export async function startValidator(): Promise<Validator> {
  const [key, sp] = [await sharedKey('idp'), await sharedKey('sp')]
  const idp = new TestIdp({ key, spEntityId: 'https://sp.example', acsUrl: 'https://sp.example/saml/r/acs' })
  const wishes = { requestId: '_0123456789abcdef0123456789abcdef', now: 1_800_000_000 }
  const expected: Expected = {
    idpEntityId: idp.entityId,
    idpCertificates: [key.certificate],
    spEntityId: idp.spEntityId,
    acsUrl: idp.acsUrl,
    decryptionKeys: [sp.privateKey],
    ...wishes,
  }
  const validate: Validator['validate'] = (xml, otherwise) => {
    const field = new Uint8Array(Buffer.from(encodeURIComponent(Buffer.from(xml).toString('base64'))))
    const result = validateField({ field, expected: { ...expected, ...otherwise } })
    return 'assertion' in result ? result.assertion : `${result.refused.check}: ${result.refused.sentence}`
  }
  return { idp, expected, wishes, response: (more) => idp.response({ ...wishes, ...more }), validate }
}

/** Requires that a response is refused for the expected reason, within 50 ms of CPU time (A26). */
export function assertRefused(validator: Validator, xml: string, reason: RegExp, what: string): void {
  const result = validator.validate(xml)
  assert.equal(typeof result, 'string', `${what}: accepted ${JSON.stringify(result)}`)
  assert.match(String(result), reason, what)
  // The best of three runs: the JIT compiler and the garbage collector add noise.
  const times = Array.from({ length: 3 }, () => milliseconds(() => validator.validate(xml)))
  assert.ok(Math.min(...times) < 50, `${what}: ${times} ms`)
}

function milliseconds(action: () => void): number {
  const before = process.cpuUsage()
  action()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}

/** Parts of a signed response, to be recombined. */
export interface Parts {
  readonly response: string
  readonly assertion: string
  readonly signature: string
}

export function splitParts(xml: string): Parts {
  const matchPart = (pattern: RegExp): string =>
    pattern.exec(xml)?.[0] ?? assert.fail(`there is no ${pattern}`)
  return {
    response: matchPart(/<samlp:Response[\s\S]*<\/samlp:Response>/),
    assertion: matchPart(/<saml:Assertion[\s\S]*<\/saml:Assertion>/),
    signature: matchPart(/<ds:Signature[\s\S]*?<\/ds:Signature>/),
  }
}

/** Returns the text with another user and another ID. */
export function forgeText(text: string, id = '_evil'): string {
  return text.replace('>ann<', '>admin<').replace(/( ID=")[^"]+/, `$1${id}`)
}
