import { type KeyUsageName, keyPurposes } from './extensions.ts'

/** RFC 5280 §4.2.1.12: every purpose. */
export const anyPurpose = '2.5.29.37.0'

/** Key usages of which one is required for a purpose (RFC 5280 §4.2.1.12). */
const consistent: Readonly<Record<keyof typeof keyPurposes, readonly KeyUsageName[]>> = {
  serverAuth: ['digitalSignature', 'keyEncipherment', 'keyAgreement'],
  // Includes keyEncipherment, which the RFC does not name: ML-KEM keys have no other usage.
  clientAuth: ['digitalSignature', 'keyEncipherment', 'keyAgreement'],
  codeSigning: ['digitalSignature'],
  emailProtection: ['digitalSignature', 'nonRepudiation', 'keyEncipherment', 'keyAgreement'],
  timeStamping: ['digitalSignature', 'nonRepudiation'],
  OCSPSigning: ['digitalSignature', 'nonRepudiation'],
}

const byIdentifier: ReadonlyMap<string, keyof typeof keyPurposes> = new Map(
  Object.entries(keyPurposes).map(([name, identifier]) => [identifier, name as keyof typeof keyPurposes]),
)

/** Finds a purpose that none of these usages allows; unknown purposes are allowed by all usages. */
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
