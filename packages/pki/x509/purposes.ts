import { type KeyUsageName, keyPurposes } from './extensions.ts'

/** RFC 5280 §4.2.1.12: every purpose. */
export const anyPurpose = '2.5.29.37.0'

/** Usages of the key of which one goes with a purpose (RFC 5280 §4.2.1.12). */
const consistent: Readonly<Record<keyof typeof keyPurposes, readonly KeyUsageName[]>> = {
  serverAuth: ['digitalSignature', 'keyEncipherment', 'keyAgreement'],
  // Also keyEncipherment, which the RFC does not name: ML-KEM keys have no other usage.
  clientAuth: ['digitalSignature', 'keyEncipherment', 'keyAgreement'],
  codeSigning: ['digitalSignature'],
  emailProtection: ['digitalSignature', 'nonRepudiation', 'keyEncipherment', 'keyAgreement'],
  timeStamping: ['digitalSignature', 'nonRepudiation'],
  OCSPSigning: ['digitalSignature', 'nonRepudiation'],
}

const byIdentifier: ReadonlyMap<string, keyof typeof keyPurposes> = new Map(
  Object.entries(keyPurposes).map(([name, identifier]) => [identifier, name as keyof typeof keyPurposes]),
)

/** The name of a purpose with which none of these usages goes; purposes that are not known go with all of them. */
export function inconsistentPurpose(
  purposes: readonly string[],
  uses: readonly KeyUsageName[],
): keyof typeof keyPurposes | undefined {
  for (const identifier of purposes) {
    const name = byIdentifier.get(identifier)
    if (name !== undefined && !consistent[name].some((use) => uses.includes(use))) return name
  }
  return undefined
}
