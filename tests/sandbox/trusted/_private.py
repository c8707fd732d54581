"""What a quantity keeps beside itself."""


def words(text):
    return text.split()
