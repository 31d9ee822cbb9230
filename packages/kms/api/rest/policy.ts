import type { AlgorithmPolicy } from '../../crypto/index.ts'
import type { KmsServices } from '../../services.ts'

/** What this server permits: asked by every operation, of REST and of KMIP. */
export function policyOf({ policy }: Pick<KmsServices, 'policy'>): AlgorithmPolicy {
  return policy
}
