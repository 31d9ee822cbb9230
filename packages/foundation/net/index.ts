export { addressSet, parseCidr } from './client-address.ts'
