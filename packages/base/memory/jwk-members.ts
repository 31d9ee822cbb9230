/** Members of a JWK of which a private or symmetric key has one (RFC 7517, RFC 7518 §6, RFC 8037 §2, RFC 9964). */
export const secretJwkMembers = ['k', 'd', 'priv'] as const

/** Private members that RSA keys of two primes have besides `d` (RFC 7518 §6.3.2). */
export const factorJwkMembers = ['p', 'q', 'dp', 'dq', 'qi'] as const

/** The material of public keys. */
export const publicJwkMembers = ['x', 'y', 'n', 'e', 'pub'] as const

/**
 * Every member that holds private or symmetric key material. `oth` is for RSA of more than two primes; earlier drafts of
 * AKP called `priv` `seed`.
 */
export const privateJwkMembers: readonly string[] = [...secretJwkMembers, ...factorJwkMembers, 'oth', 'seed']
