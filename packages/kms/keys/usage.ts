/** Bits of the cryptographic usage mask (KMIP 2.1 §12.1). */
export const usage = {
  sign: 0x1,
  verify: 0x2,
  encrypt: 0x4,
  decrypt: 0x8,
  wrapKey: 0x10,
  unwrapKey: 0x20,
  macGenerate: 0x80,
  macVerify: 0x100,
  deriveKey: 0x200,
} as const

export type Usage = keyof typeof usage

/** Bit of the mask that permits every use (KMIP 2.1 §11.12). */
export const unrestricted = 0x200000

export function allows(mask: number, use: Usage): boolean {
  return (mask & usage[use]) !== 0
}

export function usageMask(...uses: readonly Usage[]): number {
  return uses.reduce((mask, use) => mask | usage[use], 0)
}
