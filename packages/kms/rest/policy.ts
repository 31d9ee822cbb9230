import type { KmsServices } from './services.ts'

/** What the algorithm tables ask: the one policy, for every operation. */
export function policyOf({ fips }: Pick<KmsServices, 'fips'>): { readonly fips: boolean } {
  return fips ? fipsPolicy : anyPolicy
}

const fipsPolicy = { fips: true } as const
const anyPolicy = { fips: false } as const
