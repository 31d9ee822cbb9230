/** Certificates that one chain may have. */
export const longestChain = 32

export type Validity = 'Valid' | 'Invalid' | 'Unknown'
