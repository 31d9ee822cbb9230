import type { MethodFacts, Proof, SecondProof, SecondProofServices } from './method.ts'

/** The second proofs of a user, or the first one for which the code is missing. */
export type SecondProofs =
  | { readonly missing: SecondProof }
  | { readonly missing: undefined; readonly proofs: readonly Proof[] }

/** Checks the code against every second factor of the user. @throws LoginRefused for a wrong code */
export async function proveSecond(
  methods: readonly MethodFacts[],
  services: SecondProofServices,
  user: { readonly realm: string; readonly username: string },
  code: string | undefined,
): Promise<SecondProofs> {
  const proofs: Proof[] = []
  for (const { second } of methods) {
    const check = await second?.asks(services, user.realm, user.username)
    if (second === undefined || check === undefined) continue
    if (code === undefined) return { missing: second }
    proofs.push(await check(code))
  }
  return { missing: undefined, proofs }
}
