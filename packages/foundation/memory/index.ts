export { factorJwkMembers, privateJwkMembers, publicJwkMembers, secretJwkMembers } from './jwk-members.ts'
