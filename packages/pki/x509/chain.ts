/** Certificates that one chain may have. */
export const maxChainLength = 32

export type Validity = 'Valid' | 'Invalid' | 'Unknown'
