import { hmacs } from '../../crypto/index.ts'

const hmacNames: ReadonlyMap<string, string> = new Map(
  hmacs.flatMap(({ kmip, jose }) => (jose === undefined ? [] : [[jose.name, kmip]])),
)

/** The algorithm that the columns tell of, as KMIP calls it; what is stored may be more exact (`ECDSA` of an EC key). */
export function impliedAlgorithm({
  algorithm,
  boundAlg,
}: {
  readonly algorithm: string | undefined
  readonly boundAlg: string | undefined
}): string | undefined {
  return algorithm === 'HMAC' ? (hmacNames.get(boundAlg ?? '') ?? 'HMAC_SHA256') : algorithm
}
