// placeholder main until the case format is bound
int main() { return 0; }
