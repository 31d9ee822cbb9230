/** Maximum number of certificates in a chain. */
export const maxChainLength = 32

export type Validity = 'Valid' | 'Invalid' | 'Unknown'
